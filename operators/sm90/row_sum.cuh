// row_sum.h with the chunks of a row spread over threads: the same additions in the same order.
#pragma once

#include "operators/row_sum.h"

namespace tik::operators::sm90 {

inline constexpr int warp_threads = 32;
inline constexpr unsigned whole_warp = ~0u;

// Sums of `Rows` numbers over the `Lanes` neighbouring lanes that share rows, all at once: each lane has a chunk of every row
// and gets the sum of one, lane lane_of_sum<Lanes, Rows>(k) that of row k. Both are powers of two, Rows at most Lanes.
template <int Lanes, int Rows>
__device__ __forceinline__ float sums_of_lanes(float (&chunks)[Rows]) {
  int const lane = threadIdx.x % warp_threads;
  float left[Rows];
#pragma unroll
  for (int k = 0; k < Rows; ++k) left[k] = chunks[k];
  int half = Lanes / 2;
#pragma unroll
  for (int count = Rows; count > 1; count /= 2, half /= 2) {
    bool const upper = (lane & half) != 0; // keeps the upper half of the rows, and gives its part of the lower half away
#pragma unroll
    for (int k = 0; k < count / 2; ++k) {
      float const kept = upper ? left[k + count / 2] : left[k];
      float const given = upper ? left[k] : left[k + count / 2];
      left[k] = add(kept, __shfl_xor_sync(whole_warp, given, half));
    }
  }
#pragma unroll
  for (; half > 0; half /= 2) left[0] = add(left[0], __shfl_xor_sync(whole_warp, left[0], half));
  return left[0];
}

// Counted from the first of the lanes that share rows.
template <int Lanes, int Rows>
__device__ __forceinline__ int lane_of_sum(int row) {
  return row * (Lanes / Rows);
}

// The sum over the `Lanes` neighbouring lanes that share a row, each with one chunk; every lane gets it.
template <int Lanes>
__device__ __forceinline__ float sum_of_lanes(float chunk) {
  float chunks[1] = {chunk};
  return sums_of_lanes<Lanes, 1>(chunks);
}

// The sums of a block's groups meet here.
struct GroupSums {
  alignas(16) float sums[largest_groups];
};

// Called by the whole block before the first row: groups that rows do not have count as +0.
__device__ __forceinline__ void clear_missing_groups(GroupSums& shared, int groups) {
  if (threadIdx.x >= groups && threadIdx.x < largest_groups) shared.sums[threadIdx.x] = 0;
}

// Leaves the sums of a thread's chunks for sum_of_row(); chunk k of thread t is chunk k * blockDim.x + t of the row.
template <int Chunks>
__device__ __forceinline__ void share_groups(float (&chunks)[Chunks], GroupSums& shared) {
  int const lane = threadIdx.x % warp_threads;
  float const sum = sums_of_lanes<warp_threads, Chunks>(chunks);
#pragma unroll
  for (int k = 0; k < Chunks; ++k) {
    int const group = k * (blockDim.x / warp_threads) + threadIdx.x / warp_threads;
    if (lane == lane_of_sum<warp_threads, Chunks>(k) && group < largest_groups) shared.sums[group] = sum;
  }
}

// The sum of the row, after a barrier; `Groups`, a power of two, is at least the number of its groups.
template <int Groups>
__device__ __forceinline__ float sum_of_row(GroupSums const& shared) {
  float sums[Groups];
#pragma unroll
  for (int i = 0; i < Groups; i += 4) {
    float4 const four = *reinterpret_cast<float4 const*>(&shared.sums[i]);
    sums[i] = four.x;
    sums[i + 1] = four.y;
    sums[i + 2] = four.z;
    sums[i + 3] = four.w;
  }
  return fold_halves(sums);
}

} // namespace tik::operators::sm90
