// Which items a block works on, in which order: from the lengths in device memory alone.
#pragma once

#include "operators/attention/sm90/decode_shape.cuh"

namespace tik::attention::sm90 {

// Fills in what follows from an item's place and its sequence's length.
template <class Shape>
__device__ __forceinline__ void complete_item(DecodeParams const& params, Item& item, int length) {
  int query_tokens = 1;
  item.query_token = item.sequence;
  item.first_row = item.row_block * Shape::block_rows;
  if (params.query_offsets) {
    item.query_token = load_now(params.query_offsets + item.sequence);
    query_tokens = load_now(params.query_offsets + item.sequence + 1) - item.query_token;
  }
  item.rows = min(Shape::block_rows, query_tokens * params.ratio - item.first_row);
  item.first_seen = length - query_tokens + 1;
  int const last_seen = item.rows > 0 ? keys_seen(params, item, item.rows - 1) : 0;
  item.parts = (last_seen + part_keys - 1) / part_keys;
  item.keys = min(part_keys, last_seen - item.part * part_keys);
}

// The walk of a block alone: the parts of all sequences in order, each with all its heads and blocks of rows; block i takes
// every gridDim-th item from i on. Sequences without keys have one part, so that their rows are written.
template <class Shape>
class Walk {
 public:
  // Reads all lengths and counts the parts before each sequence. All threads of the block; ends with a barrier.
  __device__ __forceinline__ Walk(DecodeParams const& params, DecodeShared<Shape>& shared) : params_(params), shared_(shared) {
    uint32_t const thread = threadIdx.x;
    uint32_t const lane = thread % 32;
    uint32_t const warp = thread / 32;
    int before = 0;
    for (int first = 0; first < params.batch; first += Shape::threads) {
      int const sequence = first + thread;
      int const length = sequence < params.batch ? load_now(params.kv_lengths + sequence) : 0;
      int const parts = sequence < params.batch ? max(1, (length + part_keys - 1) / part_keys) : 0;
      int sum = parts;
#pragma unroll
      for (uint32_t distance = 1; distance < 32; distance *= 2) {
        int const below = __shfl_up_sync(0xffffffff, sum, distance);
        if (lane >= distance) sum += below;
      }
      if (lane == 31) shared.scan[warp] = sum;
      __syncthreads();
      int total = 0;
      for (uint32_t w = 0; w < Shape::threads / 32; ++w) {
        int const of_warp = shared.scan[w];
        if (w < warp) sum += of_warp;
        total += of_warp;
      }
      if (sequence < params.batch) {
        shared.length[sequence] = length;
        shared.parts_before[sequence] = before + sum - parts;
      }
      before += total;
      __syncthreads();
    }
    items_ = before * params.kv_heads * params.row_blocks;
  }

  __device__ __forceinline__ int items() const { return items_; }

  __device__ __forceinline__ Item item(int index) const {
    Item item;
    item.rank = 0;
    int const part_index = index / (params_.kv_heads * params_.row_blocks);
    int const in_part = index - part_index * (params_.kv_heads * params_.row_blocks);
    item.row_block = in_part / params_.kv_heads;
    item.head = in_part - item.row_block * params_.kv_heads;
    int low = 0;
    int high = params_.batch; // the sequence is in [low, high)
    while (high - low > 1) {
      int const middle = (low + high) / 2;
      (shared_.parts_before[middle] <= part_index ? low : high) = middle;
    }
    item.sequence = low;
    item.part = part_index - shared_.parts_before[low];
    complete_item<Shape>(params_, item, shared_.length[low]);
    return item;
  }

 private:
  DecodeParams const& params_;
  DecodeShared<Shape>& shared_;
  int items_;
};

// Where the one item of a block in a cluster lies: blockIdx is (head and rank, part and block of rows, sequence), or, where a
// cluster has all parts, (head, part and rank, block of rows, sequence).
template <class Shape>
__device__ __forceinline__ Item item_of_block(DecodeParams const& params) {
  Item item;
  item.rank = blockIdx.x % Shape::cluster;
  item.head = blockIdx.x / Shape::cluster;
  item.part = blockIdx.y;
  item.row_block = 0;
  item.sequence = blockIdx.z;
  if constexpr (Shape::parts > 1) {
    item.part = item.head % Shape::parts;
    item.head = item.head / Shape::parts;
    item.row_block = blockIdx.y;
  } else if (params.row_blocks > 1) {
    item.part = blockIdx.y / params.row_blocks;
    item.row_block = blockIdx.y % params.row_blocks;
  }
  return item;
}

} // namespace tik::attention::sm90
