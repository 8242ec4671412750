// The work of the full-sequence kernel, decided on the device from the lengths in memory. An item is one query head of one
// sequence over one block of positions. Items are numbered so that a block of threads that takes the next number whenever
// it is free keeps the chip busy to the end: sequence by sequence; within one, groups of KV heads small enough for their keys
// and values to stay in L2; within a group, the longest items first, query heads of one KV head side by side.
#pragma once

#include "operators/attention/contract.h"

namespace tik::attention::sm90 {

inline constexpr int64_t l2_bytes_for_kv = int64_t{24} << 20; // what a group of KV heads may fill

// What the kernel needs of a call besides the maps of its tensors. Lives in the kernel's parameters.
struct FullParameters {
  tik_attention_args args;
  float scale_log2;
  int* next_item;       // starts at 0: items below gridDim.x are taken without it
  int* finished_blocks; // back to 0 when the last block has finished
  uint32_t zero = 0;    // which the compiler does not know to be that
};

// Where a sequence's queries and keys lie.
struct Sequence {
  int first_row;      // of its query tokens among the packed query rows
  int first_position; // of its first query token
  int length;         // keys

  __device__ bool operator==(Sequence const& other) const {
    return first_row == other.first_row && first_position == other.first_position && length == other.length;
  }
  __device__ int first_block(int block_rows) const { return first_position / block_rows; }
  __device__ int blocks(int block_rows) const {
    return first_position < length ? (length - 1) / block_rows - first_block(block_rows) + 1 : 0;
  }
};

struct WorkItem {
  int sequence; // -1: no work is left
  int query_head;
  int kv_head;
  int block;     // positions block * block_rows ..
  int first_row; // row of position 0 among the packed query rows; negative when the chunk starts later
  int first_position;
  int length;
};

__device__ __forceinline__ Sequence load_sequence(tik_attention_args const& args, int sequence) {
  if (sequence >= args.batch) return {0, 0, 0};
  int const first_row = __ldcg(&args.query_offsets[sequence]);
  int const rows = __ldcg(&args.query_offsets[sequence + 1]) - first_row;
  int const length = args.kv_lengths == nullptr ? rows : __ldcg(&args.kv_lengths[sequence]);
  return {first_row, length - rows, length};
}

// Finds items by number, for one warp. Numbers must not decrease from call to call: the walk over the sequences goes on where
// it stopped, 32 sequences at a time.
template <int block_rows>
class WorkFinder {
 public:
  __device__ explicit WorkFinder(tik_attention_args const& args, int lane) : args_(&args), lane_(lane) { load_window(0); }

  // Whether all that was read so far is still so.
  __device__ bool still_true() const { return window_ == 0 && __all_sync(~0u, load_sequence(*args_, lane_) == sequence_); }

  __device__ WorkItem find(int number) {
    while (number >= window_begin_ + window_items_) {
      if (window_ + 32 >= args_->batch) return {-1, 0, 0, 0, 0, 0, 0};
      window_begin_ += window_items_;
      load_window(window_ + 32);
    }
    int const in_window = number - window_begin_;
    int const owner = __ffs(__ballot_sync(~0u, in_window < items_through_)) - 1;
    int const in_sequence = in_window - (__shfl_sync(~0u, items_through_, owner) -
                                         __shfl_sync(~0u, sequence_.blocks(block_rows), owner) * args_->shape.query_heads);
    Sequence const sequence{__shfl_sync(~0u, sequence_.first_row, owner), __shfl_sync(~0u, sequence_.first_position, owner),
                            __shfl_sync(~0u, sequence_.length, owner)};
    return place(window_ + owner, sequence, in_sequence);
  }

 private:
  __device__ void load_window(int window) {
    window_ = window;
    sequence_ = load_sequence(*args_, window + lane_);
    items_through_ = sequence_.blocks(block_rows) * args_->shape.query_heads;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      int const below = __shfl_up_sync(~0u, items_through_, distance);
      if (lane_ >= distance) items_through_ += below;
    }
    window_items_ = __shfl_sync(~0u, items_through_, 31);
  }

  __device__ WorkItem place(int index, Sequence const& sequence, int in_sequence) const {
    int const ratio = args_->shape.query_heads / args_->shape.kv_heads;
    int const fitting = static_cast<int>(l2_bytes_for_kv / (4 * args_->shape.head_dim)) / sequence.length;
    int const kv_heads_per_group = min(max(fitting, 1), args_->shape.kv_heads);
    int const blocks = sequence.blocks(block_rows);
    int const heads_per_group = kv_heads_per_group * ratio;
    int const group = in_sequence / (blocks * heads_per_group);
    int const in_group = in_sequence - group * blocks * heads_per_group;
    int const heads = min(heads_per_group, args_->shape.query_heads - group * heads_per_group);
    int const from_last = in_group / heads;
    int const query_head = group * heads_per_group + in_group - from_last * heads;
    return {index,
            query_head,
            query_head / ratio,
            sequence.first_block(block_rows) + blocks - 1 - from_last,
            sequence.first_row - sequence.first_position,
            sequence.first_position,
            sequence.length};
  }

  tik_attention_args const* args_;
  int lane_;
  int window_;           // first sequence of the window; lane i holds sequence window_ + i
  int window_begin_ = 0; // number of the window's first item
  int window_items_;
  int items_through_; // items of the window up to and including this lane's sequence
  Sequence sequence_;
};

} // namespace tik::attention::sm90
