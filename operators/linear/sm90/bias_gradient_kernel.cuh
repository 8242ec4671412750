// The bias's gradient: sums over tokens in the order of operators/linear/arithmetic.h.
#pragma once

#include "operators/linear/arithmetic.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {

inline constexpr int bias_block_columns = 64; // two a lane
inline constexpr int bias_threads = 32 * linear::bias_lanes;

// A warp for each partial sum, over the columns of the block.
__global__ void __launch_bounds__(bias_threads)
    bias_gradient_kernel(tik_bf16 const* out_gradient, int64_t stride, int tokens, int columns, float* bias_gradient) {
  __shared__ float partial[linear::bias_lanes][bias_block_columns];
  int const lane = threadIdx.x / 32;
  int const column = blockIdx.x * bias_block_columns + threadIdx.x % 32 * 2;
  wait_for_kernel_before();
  start_kernel_after();
  float low = 0, high = 0;
  if (column < columns) {
#pragma unroll 8
    for (int token = lane; token < tokens; token += linear::bias_lanes) {
      uint32_t const pair = *reinterpret_cast<uint32_t const*>(out_gradient + token * stride + column);
      low = add(low, low_to_float(pair));
      high = add(high, high_to_float(pair));
    }
  }
  partial[lane][threadIdx.x % 32 * 2] = low;
  partial[lane][threadIdx.x % 32 * 2 + 1] = high;
  __syncthreads();
  int const mine = blockIdx.x * bias_block_columns + threadIdx.x;
  if (threadIdx.x >= bias_block_columns || mine >= columns) return;
  float lanes[linear::bias_lanes];
#pragma unroll
  for (int i = 0; i < linear::bias_lanes; ++i) lanes[i] = partial[i][threadIdx.x];
  bias_gradient[mine] = add(bias_gradient[mine], fold_halves(lanes));
}

} // namespace tik::operators::sm90
