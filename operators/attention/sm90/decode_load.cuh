// What the decode kernel reads from device memory: keys, values and queries.
#pragma once

#include "operators/attention/sm90/decode_shape.cuh"

namespace tik::attention::sm90 {

// The producer warps' side: loads the stages of an item, first the K rows of the block's own groups, then all V rows of its
// columns. Thread and pass fix the place in a stage. Rows past the sequence's end become zeros without being read, because what
// lies there may be NaN and 0 x NaN is not 0.
template <class Shape>
class Loader {
 public:
  __device__ __forceinline__ Loader(DecodeParams const& params, DecodeShared<Shape>& shared)
      : shared_(shared), params_(params) {
    uint32_t const thread = threadIdx.x - consumer_threads;
    key_row_ = thread / Shape::key_chunks;
    key_chunk_ = thread % Shape::key_chunks;
    value_row_ = thread / Shape::value_chunks;
    value_chunk_ = thread % Shape::value_chunks;
    key_place_ = chunk_offset<Shape::key_chunks>(key_row_, key_chunk_);
    value_place_ = chunk_offset<Shape::value_chunks>(value_row_, value_chunk_);
    for (uint32_t* value : {&key_row_, &key_place_, &value_row_, &value_place_}) compute_now(*value);
  }

  // Looks up where the keys of an item's part lie. Needs its place alone, not its length: entries of the page table past the
  // sequence's last page may be read; their values are never used.
  __device__ __forceinline__ void find_pages(Item const& item) {
    if (!params_.page_table) return;
    int const thread = threadIdx.x - consumer_threads;
    int const first_page = params_.pages_a_part ? item.part * params_.pages_a_part : item.part * part_keys / params_.page_size;
    int32_t const* const table =
        params_.page_table + static_cast<int64_t>(item.sequence) * params_.page_table_stride + first_page;
    int const entries = min(params_.largest_pages_a_part, params_.page_table_stride - first_page);
    first_token_ = item.part * part_keys - first_page * params_.page_size;
    if constexpr (Shape::walks) named_barrier(producers_barrier, producer_threads); // all have loaded the item before
    if (params_.page_of_groups) {
      uint32_t const token = first_token_ + thread * group_keys;
      int const page = (token * params_.page_reciprocal) >> 20;
      if (thread < groups_per_part && page < entries) {
        shared_.group_offset[thread] = load_now(table + page) * params_.page_stride_16 * 16 +
                                       static_cast<int64_t>(token - page * params_.page_size) * params_.token_bytes;
      }
    } else {
#pragma unroll 1
      for (int i = thread; i < entries; i += producer_threads) shared_.pages[i] = load_now(table + i);
    }
    named_barrier(producers_barrier, producer_threads);
  }

  // Computes where the item's keys and values start; like find_pages() before the length is known.
  __device__ __forceinline__ void find_rows(Item const& item) {
    int64_t const head = (item.head * params_.head_stride + item.sequence * params_.sequence_stride) * 2;
    // Of token 0 (paged) or of the part's first token (contiguous).
    int64_t const start = params_.page_table ? 0 : item.part * int64_t{part_keys} * params_.token_bytes;
    key_source_ = params_.keys + head + start + key_chunk_ * 16;
    value_source_ = params_.values + head + start + (item.rank * Shape::columns + value_chunk_ * 8) * 2;
    compute_now(key_source_);
    compute_now(value_source_);
  }

  // Loads the query rows of an item; they have arrived when its first stage has. Needs its rows, not its keys.
  __device__ __forceinline__ void load_queries(Item const& item, uint32_t buffer) {
    constexpr int chunks = Shape::head_dim / 8;
    uint32_t const shared = shared_address(shared_.queries[buffer]);
    for (int i = threadIdx.x - consumer_threads; i < Shape::block_rows * chunks; i += producer_threads) {
      int const row = i / chunks;
      bool const exists = row < item.rows;
      QueryRow const place = query_row(params_, item, exists ? row : 0);
      copy_async_16(
          shared + row * Shape::query_pitch + i % chunks * 16,
          params_.queries + place.token * params_.query_token_stride + place.head * params_.query_head_stride + i % chunks * 8,
          exists);
    }
  }

  // Loads all stages of an item, each as soon as its buffer is free.
  __device__ __forceinline__ void run(Item const& item) {
    keys_ = item.keys;
    Stages<Shape> const stages(item.keys);
    int const end = stages.tiles * tile_keys;
#pragma unroll 1
    for (int stage = 0; stage < stages.keys; ++stage) {
      int const first = (item.rank + Shape::cluster * stage * Shape::groups_per_stage) * group_keys;
      load<KeyRows>(key_source_, key_place_, first + key_row_, first + KeyRows::key(passes) <= keys_, end);
    }
#pragma unroll 1
    for (int stage = 0; stage < stages.values; ++stage) {
      int const first = stage * Shape::value_rows;
      load<ValueRows>(value_source_, value_place_, first + value_row_, first + ValueRows::key(passes) <= keys_, end);
    }
  }

 private:
  static constexpr int passes = stage_bytes / 16 / producer_threads;
  static constexpr int pass_bytes = 16 * producer_threads;

  // Which key of the part a pass of a stage holds, counted from the first pass. K: the block's groups are every Cluster-th.
  struct KeyRows {
    static constexpr int rows_a_pass = producer_threads / Shape::key_chunks;
    static constexpr int passes_a_group = group_keys / rows_a_pass;
    static_assert(passes_a_group * rows_a_pass == group_keys);
    static __device__ __forceinline__ constexpr int key(int pass) {
      return pass / passes_a_group * Shape::cluster * group_keys + pass % passes_a_group * rows_a_pass;
    }
  };
  struct ValueRows {
    static __device__ __forceinline__ constexpr int key(int pass) { return pass * (producer_threads / Shape::value_chunks); }
  };

  // One stage: `key` is this thread's key in the first pass, keys from `end` on are not needed; `whole`: all keys exist.
  template <class Rows>
  __device__ __forceinline__ void load(uint8_t const* source, uint32_t place, int key, bool whole, int end) {
    if (++loaded_ > Shape::stages) barrier_wait<false>(shared_address(&shared_.empty[ring_.buffer]), ring_.phase ^ 1);
    uint32_t const shared = shared_address(shared_.stages[ring_.buffer]) + place;
    if (params_.page_of_groups) {
      uint8_t const* const row = source + int64_t{key % group_keys} * params_.token_bytes;
      // A pass that starts in the middle of a group continues the group of the pass before.
      constexpr int passes_a_group = Rows::key(1) < group_keys ? group_keys / Rows::key(1) : 1;
      uint8_t const* rows[passes_a_group];
#pragma unroll
      for (int i = 0; i < passes_a_group; ++i) rows[i] = row + int64_t{i * Rows::key(1)} * params_.token_bytes;
      int64_t const* const offsets = &shared_.group_offset[key / group_keys];
      if (whole) {
        int64_t of_pass[passes]; // read before the first copy, because a copy is a fence for the compiler
#pragma unroll
        for (int pass = 0; pass < passes; ++pass) of_pass[pass] = offsets[Rows::key(pass) / group_keys];
#pragma unroll
        for (int pass = 0; pass < passes; ++pass) {
          copy_async_16(shared + pass * pass_bytes, rows[pass % passes_a_group] + of_pass[pass], true);
        }
      } else {
#pragma unroll 2
        for (int pass = 0; pass < passes; ++pass) {
          int const at = key + Rows::key(pass);
          bool const valid = at < keys_;
          int64_t const offset = valid ? offsets[Rows::key(pass) / group_keys] : offsets[0];
          if (at < end) copy_async_16(shared + pass * pass_bytes, rows[pass % passes_a_group] + offset, valid);
        }
      }
    } else if (params_.page_table) {
#pragma unroll 2
      for (int pass = 0; pass < passes; ++pass) {
        int const at = key + Rows::key(pass);
        bool const valid = at < keys_;
        if (at < end) copy_async_16(shared + pass * pass_bytes, source + paged_offset(valid ? at : 0), valid);
      }
    } else if (whole) {
      uint8_t const* const row = source + int64_t{key} * params_.token_bytes;
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) {
        copy_async_16(shared + pass * pass_bytes, row + int64_t{Rows::key(pass)} * params_.token_bytes, true);
      }
    } else {
#pragma unroll 2
      for (int pass = 0; pass < passes; ++pass) {
        int const at = key + Rows::key(pass);
        bool const valid = at < keys_;
        if (at < end) copy_async_16(shared + pass * pass_bytes, source + int64_t{valid ? at : 0} * params_.token_bytes, valid);
      }
    }
    copy_async_arrive(shared_address(&shared_.full[ring_.buffer]));
    ring_.advance();
  }

  __device__ __forceinline__ int64_t paged_offset(int key) const {
    uint32_t const token = first_token_ + key;
    uint32_t const page = (token * params_.page_reciprocal) >> 20;
    return shared_.pages[page] * params_.page_stride_16 * 16 +
           static_cast<int64_t>(token - page * params_.page_size) * params_.token_bytes;
  }

  DecodeShared<Shape>& shared_;
  DecodeParams const& params_;
  uint32_t key_row_, key_chunk_, key_place_, value_row_, value_chunk_, value_place_; // this thread's, in a stage
  uint8_t const* key_source_;
  uint8_t const* value_source_;
  int keys_, first_token_;
  int loaded_ = 0; // stages
  RingPlace<Shape> ring_;
};

// The consumer warps' side of the ring.
template <class Shape>
__device__ __forceinline__ void wait_stage(DecodeShared<Shape>& shared, RingPlace<Shape> const& place) {
  barrier_wait<false>(shared_address(&shared.full[place.buffer]), place.phase);
}
// The warps that read a stage share its consumer_warps arrivals.
template <class Shape>
__device__ __forceinline__ void release_stage(DecodeShared<Shape>& shared, RingPlace<Shape> const& place, int reading_warps) {
  warp_arrive(shared_address(&shared.empty[place.buffer]), consumer_warps / reading_warps);
}

// The query rows of the block as second operands: [row block][k16 step][2]. Rows that do not exist are zero.
template <class Shape>
struct QueryFragments {
  uint32_t b[Shape::row_blocks][Shape::head_dim / 16][2];

  // Reads the rows that load_queries() has brought.
  __device__ __forceinline__ void read(uint8_t const* rows) {
    uint32_t const lane = threadIdx.x % 32;
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      uint32_t const query = shared_address(rows) + (block * 8 + lane % 8) * Shape::query_pitch + lane / 8 * 16;
#pragma unroll
      for (int step = 0; step < Shape::head_dim / 16; step += 2) {
        uint32_t two_steps[4];
        load_matrix_x4(two_steps, query + 32 * step);
        b[block][step][0] = two_steps[0], b[block][step][1] = two_steps[1];
        b[block][step + 1][0] = two_steps[2], b[block][step + 1][1] = two_steps[3];
      }
    }
  }
};

} // namespace tik::attention::sm90
