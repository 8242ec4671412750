// Decode attention for Hopper: a few query rows against a long cache, bound by the bandwidth and latency of memory.
//
// One item (a part of 1024 keys of one KV head, for one block of query rows) is the work of a cluster of `Cluster` blocks, or
// of one of the blocks that walk over all items when there are many. The canonical program leaves that freedom: scores of
// different keys are independent, maxima are exact in any order, and the chain over keys of O = P V is independent for each
// column. So block r
//   1. loads the K rows of groups r, r + Cluster, ... of 16 keys, then all V rows of its head_dim / Cluster columns,
//      through one ring of 16 KiB stages;
//   2. computes the scores of its keys and stores them to every block of the cluster: the one exchange, because another would
//      cost more than that every block
//   3. computes the weights of all keys, each warp those of a tile;
//   4. runs the chain over all keys for its columns;
//   5. writes the result, or, when the sequence has several parts, its partial state: to the block of the last part, if that is
//   in
//      the same cluster, else to device memory. The block of the last part or the one that arrives last folds all parts of its
//      columns in order.
// Producer warps load, consumer warps compute; nothing but barriers in shared memory lies between them.
//
// Both products have operands swapped: keys (or columns of V) are the 16 rows of mma.sync, query rows its 8 columns. Lane
// notation: r = lane / 4, c = lane % 4; an accumulator holds (r, 2c), (r, 2c + 1), (r + 8, 2c), (r + 8, 2c + 1).
#pragma once

#include "operators/attention/sm90/decode_fold.cuh"
#include "operators/attention/sm90/decode_phases.cuh"
#include "operators/attention/sm90/decode_schedule.cuh"

namespace tik::attention::sm90 {

// Initialises the barriers: the work of one warp, before anyone uses them.
template <class Shape>
__device__ __forceinline__ void initialise(DecodeShared<Shape>& shared) {
  uint32_t const lane = threadIdx.x % 32;
  if (lane < Shape::stages) {
    barrier_init(shared_address(&shared.full[lane]), producer_threads);
    barrier_init(shared_address(&shared.empty[lane]), consumer_warps * arrivals_per_warp);
  }
  if (lane == Shape::stages) {
    barrier_init(shared_address(&shared.scores_arrived), 1);
    barrier_init(shared_address(&shared.partials_arrived), 1);
    barrier_init(shared_address(&shared.weights_written), consumer_warps * arrivals_per_warp);
  }
  barrier_init_fence();
}

// Announces what other blocks of the cluster will store here. They may have begun: a barrier counts bytes either way.
template <class Shape>
__device__ __forceinline__ void expect_from_cluster(DecodeShared<Shape>& shared, Item const& item) {
  int const groups = Stages<Shape>(item.keys).tiles * groups_per_tile;
  barrier_arrive_expect(shared_address(&shared.scores_arrived), groups * item.rows * 4 * sizeof(float4));
  if (Shape::parts > 1 && item.part > 0 && item.part == item.parts - 1) {
    barrier_arrive_expect(shared_address(&shared.partials_arrived),
                          item.part * item.rows * (Shape::columns * sizeof(float) + sizeof(float2)));
  }
}

// The consumer warps. Every item: scores, weights, output, result.
template <class Shape>
class Consumer {
 public:
  __device__ __forceinline__ Consumer(DecodeParams const& params, DecodeShared<Shape>& shared)
      : params_(params), shared_(shared) {}

  // Where the result goes: the block of a cluster computes it before it waits for keys.
  __device__ __forceinline__ void find_output(Item const& item) {
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      out_[block] = output_row(params_, item, part_row(block)) + item.rank * Shape::columns + part_column();
      compute_now(out_[block]);
    }
  }

  __device__ __forceinline__ void run(Item const& item) {
    uint32_t const warp = threadIdx.x / 32;
    Stages<Shape> const stages(item.keys);
    RowsSeen<Shape> const seen = rows_seen<Shape>(params_, item);
    compute_scores(shared_, item, stages, seen, shared_.queries[query_buffer_], ring_);
    ring_.advance_far(stages.keys);
    if constexpr (Shape::walks) {
      named_barrier(consumers_barrier, consumer_threads);
    } else {
      barrier_wait<true>(shared_address(&shared_.scores_arrived), 0);
    }
    if (Shape::row_blocks == 1 && item.rows <= 4) {
      compute_weights<Shape, Shape::row_blocks == 1 ? 2 : 1>(shared_, params_, stages.tiles);
    } else {
      compute_weights<Shape, 1>(shared_, params_, stages.tiles);
    }
    warp_arrive(shared_address(&shared_.weights_written), 1);
    WarpOutput<Shape> output;
    if (warp < Shape::value_warps) {
      barrier_wait<false>(shared_address(&shared_.weights_written), item_phase_);
      output.accumulate(shared_, stages, seen, ring_);
      named_barrier(sums_barrier, 32 * (Shape::value_warps + 1));
    } else if (warp == Shape::sums_warp) {
      barrier_wait<false>(shared_address(&shared_.weights_written), item_phase_);
      compute_sums(shared_, params_, item, stages.tiles);
      named_barrier(sums_barrier, 32 * (Shape::value_warps + 1));
    }
    // The next item's scores overwrite these weights. Also, a warp without columns must not be a round of the ring ahead: a
    // barrier tells two rounds apart, not three.
    if constexpr (Shape::walks) named_barrier(consumers_barrier, consumer_threads);
    ring_.advance_far(stages.values);
    item_phase_ ^= 1;
    query_buffer_ = query_buffer_ + 1 == Shape::query_buffers ? 0 : query_buffer_ + 1;
    if (item.parts == 1) {
      if (warp < Shape::value_warps) write_whole(item, output);
    } else if constexpr (Shape::parts > 1) {
      if (item.part < item.parts - 1) {
        send_part(item, output);
      } else if (warp < Shape::value_warps) {
        fold_arriving(item, output);
      }
    } else {
      leave_part(item, output);
    }
  }

 private:
  __device__ __forceinline__ void write_whole(Item const& item, WarpOutput<Shape> const& output) {
    if constexpr (Shape::walks) find_output(item);
    write_part<Shape>(output.output, [&](int block, int offset, float2 value) {
      int const row = part_row(block);
      if (row < item.rows) write_output(out_[block] + offset, value, shared_.part_inverse[row]);
    });
  }

  // Sends the block's columns of a part to the block of the last part.
  __device__ __forceinline__ void send_part(Item const& item, WarpOutput<Shape> const& output) {
    uint32_t const to = block_of<Shape>(item.parts - 1, item.rank);
    uint32_t const barrier = remote_address(shared_address(&shared_.partials_arrived), to);
    if (threadIdx.x / 32 < Shape::value_warps) {
      write_part<Shape>(output.output, [&](int block, int offset, float2 value) {
        int const row = part_row(block);
        float2& place = shared_.partial_output[item.part][row][(part_column() + offset) / 2];
        if (row < item.rows) store_remote(remote_address(shared_address(&place), to), value, barrier);
      });
    } else if (threadIdx.x / 32 == Shape::sums_warp && threadIdx.x % 32 < item.rows) {
      int const row = threadIdx.x % 32;
      store_remote(remote_address(shared_address(&shared_.partial_state[item.part][row]), to),
                   make_float2(shared_.part_max[row], shared_.part_sum[row]), barrier);
    }
  }

  // Folds the parts that others have sent, then the own, which is the last, and writes the result.
  __device__ __forceinline__ void fold_arriving(Item const& item, WarpOutput<Shape> const& output) {
    barrier_wait<true>(shared_address(&shared_.partials_arrived), 0);
    write_part<Shape>(output.output, [&](int block, int offset, float2 value) {
      int const row = part_row(block);
      if (row >= item.rows) return;
      int const column = part_column() + offset;
      int const parts = (keys_seen(params_, item, row) + part_keys - 1) / part_keys;
      Total<2> total;
      for (int part = 0; part < parts; ++part) {
        bool const own = part == item.parts - 1;
        float2 const state = own ? make_float2(shared_.part_max[row], shared_.part_sum[row]) : shared_.partial_state[part][row];
        float2 const output_of_part = own ? value : shared_.partial_output[part][row][column / 2];
        total.add(state, {output_of_part.x, output_of_part.y}, part == 0, params_.scale_log2);
      }
      write_output(out_[block] + offset, {total.output[0], total.output[1]}, reciprocal(total.sum));
      if (item.rank == 0 && column == 0 && params_.lse) write_lse(params_, item, row, total.most, total.sum);
    });
  }

  // Leaves the block's columns of a sequence of several parts as a partial state. In a cluster the block that arrives last
  // folds them; a block alone leaves that to its finisher warps.
  __device__ __forceinline__ void leave_part(Item const& item, WarpOutput<Shape> const& output) {
    int64_t const index = workspace_item(params_, item);
    Partials<Shape> const partials(params_, index);
    if (threadIdx.x / 32 < Shape::value_warps) {
      write_part<Shape>(output.output, [&](int block, int offset, float2 value) {
        int const row = part_row(block);
        if (row < item.rows) *partials.output(item.part, row, item.rank * Shape::columns + part_column() + offset) = value;
      });
      if constexpr (Shape::walks) named_barrier_arrive(partials_barrier, 32 * Shape::value_warps + finisher_threads);
    }
    if constexpr (!Shape::walks) {
      // The last value warp has met the sums warp at sums_barrier, so it may read the sums.
      int const lane = threadIdx.x - 32 * (Shape::value_warps - 1);
      if (lane >= 0 && lane < item.rows) {
        *partials.state(item.part, item.rank, lane) = {shared_.part_max[lane], shared_.part_sum[lane]};
      }
      named_barrier(consumers_barrier, consumer_threads);
      if (arrive_last(params_.arrivals + index * ranks + item.rank, item.parts, threadIdx.x, consumer_threads,
                      consumers_barrier)) {
        fold_parts(params_, item, partials, threadIdx.x, consumer_threads);
      }
    }
  }

  DecodeParams const& params_;
  DecodeShared<Shape>& shared_;
  __nv_bfloat16* out_[Shape::row_blocks]; // where this lane writes its columns of each block of rows
  RingPlace<Shape> ring_;                 // of the item's first stage
  uint32_t item_phase_ = 0;
  uint32_t query_buffer_ = 0;
};

// The finisher warps of a block alone: row sums, and what waits for device memory at the end of an item, so that the consumers
// need not.
template <class Shape>
class Finisher {
 public:
  __device__ __forceinline__ Finisher(DecodeParams const& params, DecodeShared<Shape>& shared)
      : params_(params), shared_(shared) {}

  __device__ __forceinline__ void run(Item const& item) {
    int const thread = threadIdx.x - consumer_threads - producer_threads;
    int64_t const index = workspace_item(params_, item);
    Partials<Shape> const partials(params_, index);
    if (thread < 32) {
      barrier_wait<false>(shared_address(&shared_.weights_written), item_phase_);
      item_phase_ ^= 1;
      compute_sums(shared_, params_, item, Stages<Shape>(item.keys).tiles);
      __syncwarp();
      if (item.parts > 1 && thread < item.rows) {
        *partials.state(item.part, 0, thread) = {shared_.part_max[thread], shared_.part_sum[thread]};
      }
      named_barrier(sums_barrier, 32 * (Shape::value_warps + 1));
    }
    if (item.parts > 1) {
      named_barrier(partials_barrier, 32 * Shape::value_warps + finisher_threads);
      if (arrive_last(params_.arrivals + index * ranks, item.parts, thread, finisher_threads, finishers_barrier)) {
        fold_parts(params_, item, partials, thread, finisher_threads);
      }
    }
  }

 private:
  DecodeParams const& params_;
  DecodeShared<Shape>& shared_;
  uint32_t item_phase_ = 0;
};

// A block alone: it walks over all items; while its consumers finish one, its producers load the next.
template <class Shape>
__device__ __forceinline__ void walk(DecodeParams const& params, DecodeShared<Shape>& shared) {
  uint32_t const warp = threadIdx.x / 32;
  Walk<Shape> const items(params, shared); // its barrier publishes the initialised barriers, too
  int const step = gridDim.x;
  if (warp < consumer_warps) {
    take_registers<walking_consumer_registers>();
    Consumer<Shape> consumer(params, shared);
#pragma unroll 1
    for (int i = blockIdx.x; i < items.items(); i += step) {
      Item const item = items.item(i);
      if (item.keys > 0) {
        consumer.run(item);
      } else if (!params.query_offsets) {
        write_empty<Shape>(params, item);
      }
    }
  } else if (warp < consumer_warps + producer_warps) {
    give_back_registers<walking_helper_registers>();
    Loader<Shape> loader(params, shared);
    uint32_t query_buffer = 0;
#pragma unroll 1
    for (int i = blockIdx.x; i < items.items(); i += step) {
      Item const item = items.item(i);
      if (item.keys > 0) {
        loader.find_pages(item);
        loader.find_rows(item);
        loader.load_queries(item, query_buffer);
        loader.run(item);
        query_buffer = query_buffer + 1 == Shape::query_buffers ? 0 : query_buffer + 1;
      }
    }
  } else {
    give_back_registers<walking_helper_registers>();
    Finisher<Shape> finisher(params, shared);
#pragma unroll 1
    for (int i = blockIdx.x; i < items.items(); i += step) {
      Item const item = items.item(i);
      if (item.keys > 0) finisher.run(item);
    }
  }
}

// A block of a cluster: one item. What needs no device memory comes before the wait for the kernel before.
template <class Shape>
__device__ __forceinline__ void share(DecodeParams const& params, DecodeShared<Shape>& shared) {
  uint32_t const warp = threadIdx.x / 32;
  cluster_arrive();
  Item item = item_of_block<Shape>(params);
  int32_t const* length_of_sequence = params.kv_lengths + item.sequence;
  compute_now(length_of_sequence);
  bool const rows_known = params.query_offsets == nullptr;
  if (rows_known) complete_item<Shape>(params, item, 1);
  if (warp >= consumer_warps) {
    if constexpr (Shape::blocks_per_multiprocessor == 2) give_back_registers<producer_registers>();
    Loader<Shape> loader(params, shared);
    loader.find_rows(item);
    cluster_wait(); // all barriers of the cluster are initialised
    wait_for_kernel_before();
    int const length = load_now(length_of_sequence);
    if (rows_known) loader.load_queries(item, 0);
    loader.find_pages(item);
    complete_item<Shape>(params, item, length);
    if (item.keys <= 0) return;
    if (!rows_known) loader.load_queries(item, 0);
    loader.run(item);
    if constexpr (!Shape::fills) start_dependents();
  } else {
    if constexpr (Shape::blocks_per_multiprocessor == 2) take_registers<consumer_registers>();
    Consumer<Shape> consumer(params, shared);
    if (rows_known) consumer.find_output(item);
    cluster_wait();
    wait_for_kernel_before();
    int const length = load_now(length_of_sequence);
    complete_item<Shape>(params, item, length);
    if (item.keys <= 0) {
      if (item.part == 0 && rows_known) write_empty<Shape>(params, item);
      return;
    }
    if (!rows_known) consumer.find_output(item);
    if (threadIdx.x == 0) expect_from_cluster(shared, item);
    consumer.run(item);
  }
}

template <class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks_per_multiprocessor) decode_kernel(DecodeParams const params) {
  extern __shared__ __align__(128) uint8_t shared_bytes[];
  auto& shared = *reinterpret_cast<DecodeShared<Shape>*>(shared_bytes);
  if constexpr (Shape::fills) start_dependents();
  if (threadIdx.x / 32 == 0) initialise(shared);
  if constexpr (Shape::walks) {
    wait_for_kernel_before();
    walk(params, shared);
  } else {
    share(params, shared);
  }
}

} // namespace tik::attention::sm90
