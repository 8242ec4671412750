// What the warp groups of the full-sequence kernel share: the layout of shared memory, its barriers, and how a ring is walked.
#pragma once

#include <cuda_bf16.h>

#include "operators/attention/sm90/full_ptx.cuh"
#include "operators/attention/sm90/full_work.cuh"
#include "operators/attention/sm90/numerics.cuh"
#include "operators/attention/sm90/racecheck.cuh"

namespace tik::attention::sm90 {

using Bf16 = __nv_bfloat16;

inline constexpr int group_threads = 128;
inline constexpr int group_rows = 64; // the rows of a wgmma
static_assert(tile_keys % group_rows == 0, "all rows of a group execute the same tiles");

// A place in a ring of stages and the parity that a full barrier shows when the stage has been filled for this round.
template <int stages>
struct Pipe {
  int stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  // Tells the compiler that all lanes hold the same.
  __device__ __forceinline__ void make_uniform() {
    stage = __shfl_sync(~0u, stage, 0);
    parity = __shfl_sync(~0u, parity, 0);
  }
};

// Tiles are [head_dim / 64][rows][64], each row of 64 swizzled by 128 bytes as TMA writes and wgmma reads it.
template <int head_dim_, int groups_>
struct alignas(1024) FullShared {
  static constexpr int head_dim = head_dim_;
  static constexpr int groups = groups_; // of consumers
  static constexpr int block_rows = groups * group_rows;
  static constexpr int threads = (groups + 1) * group_threads;
  static constexpr int consumer_warps = groups * group_threads / 32;
  static constexpr int arrivals = consumer_warps * arrivals_per_warp; // that give a tile back
  static constexpr int stages = 2;

  Bf16 queries[block_rows * head_dim];
  Bf16 keys[stages][tile_keys * head_dim];
  Bf16 values[stages][tile_keys * head_dim];
  float4 total[groups][head_dim / 8][group_threads]; // the folded parts; each thread has its own column

  uint64_t queries_full[groups]; // each group has rows of its own
  uint64_t queries_empty[groups];
  uint64_t keys_full[stages];
  uint64_t keys_empty[stages];
  uint64_t values_full[stages];
  uint64_t values_empty[stages];
  WorkItem items[groups]; // valid while queries_full is complete and queries_empty is not

  // item_readers: warps other than consumers that read the item of group 0.
  __device__ void init_barriers(int item_readers) {
    for (int group = 0; group < groups; ++group) {
      int const readers = group_threads / 32 + (group == 0 ? item_readers : 0);
      ptx::init_barrier(queries_full[group], 1);
      ptx::init_barrier(queries_empty[group], readers * arrivals_per_warp);
    }
    for (int stage = 0; stage < stages; ++stage) {
      ptx::init_barrier(keys_full[stage], 1);
      ptx::init_barrier(keys_empty[stage], arrivals);
      ptx::init_barrier(values_full[stage], 1);
      ptx::init_barrier(values_empty[stage], arrivals);
    }
    ptx::fence_barrier_init();
  }
};

} // namespace tik::attention::sm90
