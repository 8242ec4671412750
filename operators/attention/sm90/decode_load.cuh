// What the decode kernel reads from device memory: keys, values and queries.
#pragma once

#include "operators/attention/sm90/decode_shape.cuh"

namespace tik::attention::sm90 {

// Loads the stages of one item: first the K rows of the block's own groups, then all V rows of its columns. Thread and pass fix
// the place in a stage; a stage is four passes of 16 bytes a thread. Rows past the sequence's end become zeros without being
// read, because what lies there may be NaN and 0 x NaN is not 0.
template <class Shape>
class Loader {
 public:
  // Prepares all that does not depend on the sequence's length.
  __device__ __forceinline__ Loader(DecodeParams const& params, Item const& item, DecodeShared<Shape>& shared)
      : shared_(shared), params_(params), first_token_(item.first_token) {
    uint32_t const thread = threadIdx.x;
    int64_t const head = (item.head * params.head_stride + item.sequence * params.sequence_stride) * 2 +
                         (params.page_table ? 0 : item.part * int64_t{part_keys} * params.token_bytes);
    uint32_t const row = thread / Shape::key_chunks;
    uint32_t const chunk = thread % Shape::key_chunks;
    key_.source = params.keys + head + chunk * 16;
    key_.first = (item.rank + Shape::cluster * (row / group_keys)) * group_keys + row % group_keys;
    key_.place = chunk_offset<Shape::key_chunks>(row, chunk);
    uint32_t const value_row = thread / Shape::value_chunks;
    uint32_t const value_chunk = thread % Shape::value_chunks;
    value_.source = params.values + head + (item.rank * Shape::columns + value_chunk * 8) * 2;
    value_.first = value_row;
    value_.place = chunk_offset<Shape::value_chunks>(value_row, value_chunk);
    for (Place* place : {&key_, &value_}) {
      compute_now(place->source);
      compute_now(place->first);
      compute_now(place->place);
    }
  }

  __device__ __forceinline__ void set_keys(int keys) {
    keys_ = keys;
    tiles_ = (keys + tile_keys - 1) / tile_keys;
    int const own_groups = tiles_ * groups_per_tile / Shape::cluster;
    key_stages_ = (own_groups + Shape::groups_per_stage - 1) / Shape::groups_per_stage;
    stages_ = key_stages_ + (tiles_ * tile_keys + Shape::value_rows - 1) / Shape::value_rows;
  }

  __device__ __forceinline__ int tiles() const { return tiles_; }
  __device__ __forceinline__ int key_stages() const { return key_stages_; }
  __device__ __forceinline__ int stages() const { return stages_; }

  // Starts the loads of a stage; past the last one it only commits an empty group, so that groups count stages.
  __device__ __forceinline__ void load(int stage) const {
    if (stage < stages_) {
      bool const is_key = stage < key_stages_;
      int const step = is_key ? key_step : value_step; // keys from one pass to the next
      int const first = is_key ? key_.first + stage * passes * key_step
                               : value_.first + (stage - key_stages_) * passes * value_step;
      uint8_t const* const source = is_key ? key_.source : value_.source;
      uint32_t const shared =
          shared_address(shared_.stages[stage % Shape::stages]) + (is_key ? key_.place : value_.place);
      if (params_.page_table) {
#pragma unroll
        for (int pass = 0; pass < passes; ++pass) {
          int const key = first + pass * step;
          bool const valid = key < keys_;
          copy_async_16(shared + pass * pass_bytes, source + paged_offset(valid ? key : 0), valid);
        }
      } else {
#pragma unroll
        for (int pass = 0; pass < passes; ++pass) {
          int const key = first + pass * step;
          bool const valid = key < keys_;
          copy_async_16(shared + pass * pass_bytes, source + int64_t{valid ? key : 0} * params_.token_bytes, valid);
        }
      }
    }
    copy_async_commit();
  }

 private:
  static constexpr int passes = stage_bytes / 16 / decode_threads;
  static constexpr int pass_bytes = 16 * decode_threads;
  static constexpr int value_step = decode_threads / Shape::value_chunks;
  static constexpr int key_step = decode_threads / Shape::key_chunks * Shape::cluster;

  struct Place {
    uint8_t const* source; // this thread's chunk of token 0 (paged) or of the part's first token (contiguous)
    uint32_t first;        // key of the part in the first pass
    uint32_t place;        // in a stage, bytes
  };

  __device__ __forceinline__ int64_t paged_offset(int key) const {
    int const token = first_token_ + key;
    int const page = static_cast<int>((static_cast<uint32_t>(token) * params_.page_reciprocal) >> 20);
    return shared_.pages[page] + int64_t{token - page * params_.page_size} * params_.token_bytes;
  }

  DecodeShared<Shape>& shared_;
  DecodeParams const& params_;
  Place key_, value_;
  int keys_, first_token_, tiles_, key_stages_, stages_;
};

// Waits until a stage has arrived for every thread and refills the buffer that the stage before it has left.
template <class Shape>
__device__ __forceinline__ void next_stage(Loader<Shape> const& loader, int stage) {
  if (stage == 0) {
    copy_async_wait<Shape::stages - 1>();
    __syncthreads();
  } else {
    copy_async_wait<Shape::stages - 2>();
    __syncthreads();
    loader.load(stage - 1 + Shape::stages);
  }
}

// The query rows of the block as second operands: [row block][k16 step][2]. Rows that do not exist are zero.
template <class Shape>
struct QueryFragments {
  uint32_t b[Shape::row_blocks][Shape::head_dim / 16][2];

  __device__ __forceinline__ void load(DecodeParams const& params, Item const& item) {
    uint32_t const lane = threadIdx.x % 32;
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      int const row = block * 8 + lane / 4;
      bool const exists = row < item.rows;
      QueryRow const place = query_row(params, item, row);
      __nv_bfloat16 const* const query =
          params.queries + place.token * params.query_token_stride + place.head * params.query_head_stride + 2 * (lane % 4);
#pragma unroll
      for (int step = 0; step < Shape::head_dim / 16; ++step) {
        b[block][step][0] = b[block][step][1] = 0;
        if (exists) {
          b[block][step][0] = load_now(static_cast<void const*>(query + 16 * step));
          b[block][step][1] = load_now(static_cast<void const*>(query + 16 * step + 8));
        }
      }
    }
  }
};

}  // namespace tik::attention::sm90
