// Decode attention for Hopper: a few query rows against a long cache, bound by the bandwidth and latency of memory.
//
// One item (a part of 1024 keys of one KV head, for one block of query rows) is the work of a cluster of `Cluster` blocks.
// The canonical program leaves that freedom: scores of different keys are independent, maxima are exact in any order, and the
// chain over keys of O = P V is independent for each column. So block r
//   1. loads the K rows of groups r, r + Cluster, ... of 16 keys, then all V rows of its head_dim / Cluster columns,
//      through one ring of 16 KiB stages that is filled before anything is computed;
//   2. computes the scores of its keys and stores them to every block of the cluster;
//   3. computes the running maxima and the weights of all keys of the part;
//   4. runs the chain over all keys for its columns;
//   5. writes the result, or, when the sequence has several parts, its partial state; the block that arrives last folds all
//      parts of its columns in order.
//
// Both products have operands swapped: keys (or columns of V) are the 16 rows of mma.sync, query rows its 8 columns. Lane
// notation: r = lane / 4, c = lane % 4; an accumulator holds (r, 2c), (r, 2c + 1), (r + 8, 2c), (r + 8, 2c + 1).
#pragma once

#include "operators/attention/sm90/decode_fold.cuh"
#include "operators/attention/sm90/decode_phases.cuh"

namespace tik::attention::sm90 {

template <class Shape>
__global__ void __launch_bounds__(decode_threads, Shape::blocks_per_multiprocessor) decode_kernel(DecodeParams const params) {
  extern __shared__ __align__(128) uint8_t shared_bytes[];
  auto& shared = *reinterpret_cast<DecodeShared<Shape>*>(shared_bytes);
  int const thread = threadIdx.x;
  int const warp = thread / 32;

  Item item;
  item.rank = blockIdx.x % Shape::cluster;
  item.head = blockIdx.x / Shape::cluster;
  item.part = blockIdx.y;
  item.row_block = 0;
  item.sequence = blockIdx.z;
  if (params.row_blocks > 1) {
    item.part = blockIdx.y / params.row_blocks;
    item.row_block = blockIdx.y % params.row_blocks;
  }
  item.first_row = item.row_block * Shape::block_rows;

  if constexpr (Shape::cluster > 1) {
    if (thread == 0) {
      barrier_init(shared_address(&shared.scores_arrived), 1);
      barrier_init_fence();
    }
    cluster_arrive();
  }

  // Everything the addresses depend on is read at once. Entries of the page table past the sequence's last page may be read
  // here; their values are never used.
  int const length = load_now(params.kv_lengths + item.sequence);
  item.first_token = 0;
  int entries = 0;
  int32_t const* table = nullptr;
  int32_t page = 0;
  if (params.page_table) {
    int const first = params.pages_a_part ? item.part * params.pages_a_part : item.part * part_keys / params.page_size;
    item.first_token = item.part * part_keys - first * params.page_size;
    entries = min(params.largest_pages_a_part, params.page_table_stride - first);
    table = params.page_table + static_cast<int64_t>(item.sequence) * params.page_table_stride + first;
    if (thread < entries) page = load_now(table + thread);
  }
  int query_tokens = 1;
  item.query_token = item.sequence;
  if (params.query_offsets) {
    item.query_token = load_now(params.query_offsets + item.sequence);
    query_tokens = load_now(params.query_offsets + item.sequence + 1) - item.query_token;
  }
  item.rows = min(Shape::block_rows, query_tokens * params.ratio - item.first_row);
  QueryFragments<Shape> queries;
  queries.load(params, item);
  Loader<Shape> loader(params, item, shared);
  if (thread < entries) shared.pages[thread] = page * params.page_stride * 2;
#pragma unroll 1
  for (int i = thread + decode_threads; i < entries; i += decode_threads) {
    shared.pages[i] = load_now(table + i) * params.page_stride * 2;
  }

  item.first_seen = length - query_tokens + 1;
  int const last_seen = item.rows > 0 ? keys_seen(params, item, item.rows - 1) : 0;
  item.parts = (last_seen + part_keys - 1) / part_keys;
  item.keys = min(part_keys, last_seen - item.part * part_keys);
  if (item.keys <= 0) {
    if (length == 0 && item.part == 0 && !params.query_offsets) write_empty<Shape>(params, item);
    if constexpr (Shape::cluster > 1) cluster_wait();
    return;
  }
  if (params.page_table) __syncthreads();

  loader.set_keys(item.keys);
#pragma unroll 1
  for (int stage = 0; stage < Shape::stages; ++stage) loader.load(stage);
  RowsSeen<Shape> const seen = rows_seen<Shape>(params, item);

  if constexpr (Shape::cluster > 1) {
    if (thread == 0) {
      barrier_expect(shared_address(&shared.scores_arrived),
                     loader.tiles() * groups_per_tile * Shape::row_blocks * sizeof(GroupSlot));
    }
    cluster_wait();
  }
#pragma unroll 1
  for (int stage = 0; stage < loader.key_stages(); ++stage) {
    next_stage(loader, stage);
    compute_scores(shared, item, seen, queries, stage, loader.tiles());
  }
  if constexpr (Shape::cluster == 1) {
    __syncthreads();
  } else {
    barrier_wait(shared_address(&shared.scores_arrived), 0);
  }
  compute_weights(shared, params, loader.tiles());

  float output[Shape::row_blocks][4] = {};
  float before_tile[Shape::row_blocks][4];
#pragma unroll 1
  for (int stage = loader.key_stages(); stage < loader.stages(); ++stage) {
    next_stage(loader, stage);
    int const value_stage = stage - loader.key_stages();
    if (value_stage == 0 && warp == decode_warps - 1) compute_sums(shared, loader.tiles());
    if (warp < Shape::value_warps) {
      accumulate_output(shared, seen, shared_address(shared.stages[stage % Shape::stages]), value_stage, loader.tiles(),
                        output, before_tile);
    }
  }
  __syncthreads();
  if (item.parts == 1) {
    write_part<Shape>(output, [&](int row, int column, float2 value) {
      if (row < item.rows) {
        write_result(params, item, row, item.rank * Shape::columns + column, value, shared.part_max[row], shared.part_sum[row]);
      }
    });
  } else {
    int64_t const index = (static_cast<int64_t>(item.sequence) * params.kv_heads + item.head) * params.row_blocks + item.row_block;
    Partials<Shape> const partials(params, index);
    write_part<Shape>(output, [&](int row, int column, float2 value) {
      if (row < item.rows) *partials.output(item.part, row, item.rank * Shape::columns + column) = value;
    });
    if (thread < item.rows) *partials.state(item.part, item.rank, thread) = {shared.part_max[thread], shared.part_sum[thread]};
    if (arrive_last(params.arrivals + index * ranks + item.rank, item.parts, shared.last_arrival)) {
      fold_parts(params, item, partials);
    }
  }
}

}  // namespace tik::attention::sm90
