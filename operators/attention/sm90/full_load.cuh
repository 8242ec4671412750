// The producer's half of the full-sequence kernel: one warp that brings queries, keys and values into shared memory by TMA.
// Nothing past the end of a sequence is ever read: whole tiles come as one box, the rest of a tile in smaller ones.
#pragma once

#include "operators/attention/sm90/full_ptx.cuh"
#include "operators/attention/sm90/full_shared.cuh"
#include "operators/attention/sm90/full_work.cuh"

namespace tik::attention::sm90 {

// The maps of one tensor [outer, heads, rows, head_dim] by the rows a box has: powers of two, and the largest box never
// straddles two pages.
struct RowMaps {
  CUtensorMap large;
  CUtensorMap medium;
  CUtensorMap single;
  int large_shift; // log2 of the rows
  int medium_shift;
};

struct FullMaps {
  RowMaps queries;
  RowMaps keys;
  RowMaps values;
};

// Where a row of a sequence lies in its tensor.
struct TensorRow {
  int row;
  int outer; // page or sequence
};

__device__ __forceinline__ TensorRow locate_key(tik_kv_view const& kv, WorkItem const& item, int token) {
  if (kv.layout == TIK_KV_PACKED) return {item.first_row + token, 0};
  if (kv.layout == TIK_KV_CONTIGUOUS) return {token, item.sequence};
  int const entry = token / kv.page_size;
  return {token - entry * kv.page_size, kv.page_table[int64_t{item.sequence} * kv.page_table_stride + entry]};
}

// Copies `rows` rows to rows 0.. of `destination` [head_dim / 64][tile_rows][64]; the lanes share the boxes. locate(i) says
// where row i lies.
template <int head_dim, int tile_rows, typename Locate>
__device__ __forceinline__ void load_rows(Bf16* destination, RowMaps const& maps, uint64_t& barrier, int rows, int head,
                                          int lane, Locate locate) {
  int const large = rows >> maps.large_shift;
  int const after_large = rows - (large << maps.large_shift);
  int const medium = after_large >> maps.medium_shift;
  int const single = after_large - (medium << maps.medium_shift);
#pragma unroll 1
  for (int box = lane; box < large + medium + single; box += 32) {
    CUtensorMap const* map = &maps.large;
    int row = box << maps.large_shift;
    if (box >= large + medium) {
      map = &maps.single;
      row = rows - single + (box - large - medium);
    } else if (box >= large) {
      map = &maps.medium;
      row = (large << maps.large_shift) + ((box - large) << maps.medium_shift);
    }
    TensorRow const source = locate(row);
#pragma unroll
    for (int column = 0; column < head_dim; column += 64) {
      ptx::load_box(destination + (column * tile_rows + row * 64), *map, barrier, column, source.row, head, source.outer);
    }
  }
}

// Values past the end of a sequence become zeros: their weights are zero, and zero times whatever was there may be NaN.
template <int head_dim>
__device__ __forceinline__ void clear_rows(Bf16* tile, int first_row, int lane) {
#pragma unroll 1
  for (int half = 0; half < head_dim / 64; ++half) {
    auto* const chunks = reinterpret_cast<uint4*>(tile + half * tile_keys * 64);
#pragma unroll 1
    for (int chunk = first_row * 8 + lane; chunk < tile_keys * 8; chunk += 32) chunks[chunk] = make_uint4(0, 0, 0, 0);
  }
  ptx::fence_shared_for_async();
  __syncwarp();
}

// The whole life of the producer warp: takes items until none is left and keeps the stages full.
template <int head_dim>
__device__ __forceinline__ void produce(FullShared<head_dim>& shared, FullMaps const& maps, FullParameters const& parameters) {
  using Shared = FullShared<head_dim>;
  constexpr uint32_t row_bytes = head_dim * sizeof(Bf16);
  tik_attention_args const& args = parameters.args;
  int const lane = threadIdx.x % 32;
  int const ratio = args.shape.query_heads / args.shape.kv_heads;
  Pipe<Shared::stages> key_pipe;
  Pipe<Shared::stages> value_pipe;
  Pipe<1> query_pipe;
  bool const whole_tiles = tile_keys >> maps.keys.large_shift == 1;

  WorkFinder finder(args, lane);
  WorkItem item = finder.find(blockIdx.x);
  while (item.sequence >= 0) {
    int next = 0;
    int const tiles = item.block + 1;
    int const kv_head = item.query_head / ratio;
    auto const load = [&](RowMaps const& map, Bf16* tile_memory, uint64_t& full, uint64_t& empty, uint32_t parity, int tile,
                          bool clear) {
      int const rows = min(tile_keys, item.length - tile * tile_keys);
      ptx::wait(empty, parity);
      if (rows == tile_keys && whole_tiles) {
        if (ptx::elect_one()) {
          TensorRow const source = locate_key(args.kv, item, tile * tile_keys);
          ptx::arrive_expect_bytes(full, tile_keys * row_bytes);
#pragma unroll
          for (int column = 0; column < head_dim; column += 64) {
            ptx::load_box(tile_memory + column * tile_keys, map.large, full, column, source.row, kv_head, source.outer);
          }
        }
        return;
      }
      if (clear && rows < tile_keys) clear_rows<head_dim>(tile_memory, rows, lane);
      if (lane == 0) ptx::arrive_expect_bytes(full, rows * row_bytes);
      load_rows<head_dim, tile_keys>(tile_memory, map, full, rows, kv_head, lane,
                                     [&](int row) { return locate_key(args.kv, item, tile * tile_keys + row); });
    };
    auto const load_keys = [&](int tile) {
      int const stage = key_pipe.stage;
      load(maps.keys, shared.keys[stage], shared.keys_full[stage], shared.keys_empty[stage], key_pipe.parity ^ 1, tile, false);
      key_pipe.advance();
    };
    auto const load_values = [&](int tile) {
      int const stage = value_pipe.stage;
      load(maps.values, shared.values[stage], shared.values_full[stage], shared.values_empty[stage], value_pipe.parity ^ 1,
           tile, true);
      value_pipe.advance();
    };

    ptx::wait(shared.queries_empty, query_pipe.parity ^ 1);
    int const begin = max(item.first_position - item.block * block_rows, 0);
    int const end = min(block_rows, item.length - item.block * block_rows);
    if (lane == 0) {
      shared.item = item;
      ptx::arrive_expect_bytes(shared.queries_full, (end - begin) * row_bytes);
    }
    if (end - begin == block_rows) {
      if (ptx::elect_one()) {
#pragma unroll
        for (int column = 0; column < head_dim; column += 64) {
          ptx::load_box(shared.queries + column * block_rows, maps.queries.large, shared.queries_full, column,
                        item.first_row + item.block * block_rows, item.query_head, 0);
        }
      }
    } else {
      load_rows<head_dim, block_rows>(shared.queries + begin * 64, maps.queries, shared.queries_full, end - begin,
                                      item.query_head, lane, [&](int row) {
                                        return TensorRow{item.first_row + item.block * block_rows + begin + row, 0};
                                      });
    }
    load_keys(0);
    query_pipe.advance();
    for (int tile = 0; tile < tiles; ++tile) {
      // As late as its latency stays hidden: an item taken early is one that no free block can take.
      if (tile == tiles - 1 && lane == 0) next = atomicAdd(parameters.next_item, 1);
      if (tile + 1 < tiles) load_keys(tile + 1);
      load_values(tile);
    }
    item = finder.find(gridDim.x + __shfl_sync(~0u, next, 0));
  }

  if (lane != 0) return;
  ptx::wait(shared.queries_empty, query_pipe.parity ^ 1);
  shared.item.sequence = -1;
  ptx::arrive(shared.queries_full);
  __threadfence();
  if (atomicAdd(parameters.finished_blocks, 1) == gridDim.x - 1) {
    *parameters.next_item = 0;
    *parameters.finished_blocks = 0;
  }
}

} // namespace tik::attention::sm90
