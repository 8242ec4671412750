// The producers' half of the full-sequence kernel: a warp that brings queries, keys and values into shared memory by TMA, and a
// second one for the values where pages make many small boxes.
//
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

// Copies tile_rows consecutive rows, by one lane.
template <int head_dim, int tile_rows, int box_rows>
__device__ __forceinline__ void load_whole(Bf16* destination, CUtensorMap const& map, uint64_t& barrier, TensorRow source,
                                           int head) {
#pragma unroll
  for (int row = 0; row < tile_rows; row += box_rows) {
#pragma unroll
    for (int column = 0; column < head_dim; column += 64) {
      ptx::load_box(destination + column * tile_rows + row * 64, map, barrier, column, source.row + row, head, source.outer);
    }
  }
}

__device__ __forceinline__ bool one_box(RowMaps const& maps) { return tile_keys >> maps.large_shift == 1; }

// How `rows` rows are cut into boxes.
struct Boxes {
  int large_shift;
  int medium_shift;
  int rows;
  int large;
  int medium;
  int count;

  __device__ __forceinline__ Boxes(RowMaps const& maps, int rows)
      : large_shift(maps.large_shift), medium_shift(maps.medium_shift), rows(rows), large(rows >> large_shift) {
    int const after_large = rows - (large << large_shift);
    medium = after_large >> medium_shift;
    count = large + medium + (after_large - (medium << medium_shift));
  }

  __device__ __forceinline__ int row(int box) const {
    if (box < large) return box << large_shift;
    if (box < large + medium) return (large << large_shift) + ((box - large) << medium_shift);
    return rows - (count - box);
  }

  __device__ __forceinline__ CUtensorMap const& map(RowMaps const& maps, int box) const {
    return box < large ? maps.large : box < large + medium ? maps.medium : maps.single;
  }
};

// Copies `rows` rows to rows 0.. of `destination` [head_dim / 64][tile_rows][64]; the lanes share the boxes. locate(i) says
// where row i lies, `first` where the first row of the lane's first box does.
template <int head_dim, int tile_rows, typename Locate>
__device__ __forceinline__ void load_rows(Bf16* destination, RowMaps const& maps, Boxes const& boxes, uint64_t& barrier,
                                          TensorRow first, int head, int lane, Locate locate) {
#pragma unroll 1
  for (int box = lane; box < boxes.count; box += 32) {
    int const row = boxes.row(box);
    TensorRow const source = box == lane ? first : locate(row);
#pragma unroll
    for (int column = 0; column < head_dim; column += 64) {
      ptx::load_box(destination + (column * tile_rows + row * 64), boxes.map(maps, box), barrier, column, source.row, head,
                    source.outer);
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

// Copies one tile of keys or values into the stage of a ring, once its consumers have given it back.
template <typename Shared>
__device__ __forceinline__ void load_tile(Bf16* stage, uint64_t& full, uint64_t& empty, uint32_t parity, RowMaps const& maps,
                                          tik_attention_args const& args, WorkItem const& item, int tile, bool values) {
  constexpr int head_dim = Shared::head_dim;
  constexpr uint32_t row_bytes = head_dim * sizeof(Bf16);
  int const lane = threadIdx.x % 32;
  int const rows = min(tile_keys, item.length - tile * tile_keys);
  if (rows == tile_keys && one_box(maps)) {
    ptx::wait(empty, parity);
    if (ptx::elect_one()) {
      ptx::arrive_expect_bytes(full, tile_keys * row_bytes);
      load_whole<head_dim, tile_keys, tile_keys>(stage, maps.large, full, locate_key(args.kv, item, tile * tile_keys),
                                                 item.kv_head);
    }
    return;
  }
  Boxes const boxes(maps, rows);
  auto const locate = [&](int row) { return locate_key(args.kv, item, tile * tile_keys + row); };
  TensorRow const first = locate(lane < boxes.count ? boxes.row(lane) : 0); // before the wait: a page table answers late
  ptx::wait(empty, parity);
  if (values && rows < tile_keys) clear_rows<head_dim>(stage, rows, lane);
  if (lane == 0) ptx::arrive_expect_bytes(full, rows * row_bytes);
  load_rows<head_dim, tile_keys>(stage, maps, boxes, full, first, item.kv_head, lane, locate);
}

// Tiles of keys that the item needs: those up to its last row.
template <typename Shared>
__device__ __forceinline__ int item_tiles(WorkItem const& item) {
  return (min((item.block + 1) * Shared::block_rows, item.length) - 1) / tile_keys + 1;
}

// Brings the queries of one group of consumers, and tells it the item.
template <typename Shared>
__device__ __forceinline__ void load_queries(Shared& shared, RowMaps const& maps, WorkItem const& item, int group) {
  constexpr int head_dim = Shared::head_dim;
  constexpr int block_rows = Shared::block_rows;
  constexpr uint32_t row_bytes = head_dim * sizeof(Bf16);
  int const lane = threadIdx.x % 32;
  int const block_start = item.block * block_rows;
  int const group_start = block_start + group * group_rows;
  int const begin = max(item.first_position, group_start);
  int const end = max(min(item.length, group_start + group_rows), begin);
  uint64_t& full = shared.queries_full[group];
  Bf16* const destination = shared.queries + (begin - block_start) * 64;
  auto const locate = [&](int row) { return TensorRow{item.first_row + begin + row, 0}; };
  if (lane == 0) {
    shared.items[group] = item;
    ptx::arrive_expect_bytes(full, (end - begin) * row_bytes);
  }
  if (end - begin < group_rows) {
    Boxes const boxes(maps, end - begin);
    load_rows<head_dim, block_rows>(destination, maps, boxes, full, locate(boxes.row(lane)), item.query_head, lane, locate);
  } else if (ptx::elect_one()) {
#pragma unroll
    for (int column = 0; column < head_dim; column += 64) {
      ptx::load_box(destination + column * block_rows, maps.large, full, column, item.first_row + begin, item.query_head, 0);
    }
  }
}

// A producer's place in the rings, and its steps.
template <typename Shared>
class Producer {
 public:
  __device__ __forceinline__ Producer(Shared& shared, FullMaps const& maps, FullParameters const& parameters)
      : shared_(shared), maps_(maps), parameters_(parameters) {}

  // Small pages make many boxes: then a second warp loads the values.
  static __device__ __forceinline__ bool values_apart(FullMaps const& maps) { return !one_box(maps.keys); }

  // The whole life of the first producer warp: takes items until none is left, says which to all, and loads them.
  __device__ __forceinline__ void run() {
    int const lane = threadIdx.x % 32;
    bool const apart = values_apart(maps_);
    // Lengths may still change while the previous launch runs: what is found early is used only if they stayed.
    WorkFinder<Shared::block_rows> finder(parameters_.args, lane);
    WorkItem item = finder.find(blockIdx.x);
    ptx::wait_for_previous_launch();
    ptx::allow_next_launch();
    if (!finder.still_true()) {
      finder = WorkFinder<Shared::block_rows>(parameters_.args, lane);
      item = finder.find(blockIdx.x);
    }
    while (item.sequence >= 0) {
      int next = 0;
      int const tiles = item_tiles<Shared>(item);
      load_keys(item, 0); // before the queries, which wait for the end of the item before
      for (int group = 0; group < Shared::groups; ++group) {
        ptx::wait(shared_.queries_empty[group], query_pipe_.parity ^ 1);
        load_queries(shared_, maps_.queries, item, group);
      }
      query_pipe_.advance();
      for (int tile = 0; tile < tiles; ++tile) {
        // As late as its latency stays hidden: an item taken early is one that no free block can take.
        if (tile == tiles - 1 && lane == 0) next = atomicAdd(parameters_.next_item, 1);
        if (tile + 1 < tiles) load_keys(item, tile + 1);
        if (!apart) load_values(item, tile);
      }
      item = finder.find(gridDim.x + __shfl_sync(~0u, next, 0));
    }
    if (lane == 0) finish();
  }

  // The whole life of the second producer warp: loads the values of the items that the first one names.
  __device__ __forceinline__ void run_values() {
    ptx::wait_for_previous_launch();
    ptx::allow_next_launch();
    while (true) {
      ptx::wait(shared_.queries_full[0], query_pipe_.parity);
      query_pipe_.advance();
      WorkItem const item = shared_.items[0];
      __syncwarp();
      if (item.sequence < 0) return;
      if (every_lane_arrives || threadIdx.x % 32 == 0) ptx::arrive(shared_.queries_empty[0]);
      int const tiles = item_tiles<Shared>(item);
      for (int tile = 0; tile < tiles; ++tile) load_values(item, tile);
    }
  }

 private:
  __device__ __forceinline__ void load_keys(WorkItem const& item, int tile) {
    int const stage = key_pipe_.stage;
    load_tile<Shared>(shared_.keys[stage], shared_.keys_full[stage], shared_.keys_empty[stage], key_pipe_.parity ^ 1,
                      maps_.keys, parameters_.args, item, tile, false);
    key_pipe_.advance();
  }

  __device__ __forceinline__ void load_values(WorkItem const& item, int tile) {
    int const stage = value_pipe_.stage;
    load_tile<Shared>(shared_.values[stage], shared_.values_full[stage], shared_.values_empty[stage], value_pipe_.parity ^ 1,
                      maps_.values, parameters_.args, item, tile, true);
    value_pipe_.advance();
  }

  // Tells the consumers that no work is left; the last block leaves the counters as the next launch needs them.
  __device__ __forceinline__ void finish() {
    for (int group = 0; group < Shared::groups; ++group) {
      ptx::wait(shared_.queries_empty[group], query_pipe_.parity ^ 1);
      shared_.items[group].sequence = -1;
      ptx::arrive(shared_.queries_full[group]);
    }
    __threadfence();
    if (atomicAdd(parameters_.finished_blocks, 1) == gridDim.x - 1) {
      *parameters_.next_item = 0;
      *parameters_.finished_blocks = 0;
    }
  }

  Shared& shared_;
  FullMaps const& maps_;
  FullParameters const& parameters_;
  Pipe<Shared::stages> key_pipe_;
  Pipe<Shared::stages> value_pipe_;
  Pipe<1> query_pipe_;
};

} // namespace tik::attention::sm90
