// RMSNorm of rows that a block of threads shares, a row a block.
#pragma once

#include "operators/rms_norm/sm90/forward_chunk.cuh"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/row_sum.cuh"

namespace tik::operators::sm90 {

// A thread has `Chunks` chunks of the row; `Groups`, a power of two, is at least the groups of a row.
template <int Chunks, int Groups, bool WithResidual>
__global__ void __launch_bounds__(largest_columns / chunk_columns / Chunks) wide_rms_norm_kernel(NormParams const params) {
  __shared__ GroupSums shared;
  start_kernel_after();
  clear_missing_groups(shared, (params.columns / chunk_columns + group_chunks - 1) / group_chunks);
  int const token = params.heads.quotient(blockIdx.x);
  int const head = blockIdx.x - token * params.heads.divisor;
  auto const column = [&](int k) { return (k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * chunk_columns; };

  wait_for_kernel_before();
  uint4 sum[Chunks], residual[Chunks], weight[Chunks];
#pragma unroll
  for (int k = 0; k < Chunks; ++k) {
    bool const inside = column(k) < params.columns;
    sum[k] = inside ? load_chunk(params.x.row(token, head) + column(k)) : uint4{};
    if constexpr (WithResidual) residual[k] = inside ? load_chunk(params.residual.row(token, head) + column(k)) : uint4{};
  }
#pragma unroll
  for (int k = 0; k < Chunks; ++k) {
    weight[k] = column(k) < params.columns ? load_chunk(params.weight + column(k)) : uint4{};
  }

  float chunk_sums[Chunks];
#pragma unroll
  for (int k = 0; k < Chunks; ++k) {
    if constexpr (WithResidual) sum[k] = add_residual(sum[k], residual[k]);
    chunk_sums[k] = squares(sum[k]);
  }
  share_groups<Chunks>(chunk_sums, shared);
  if constexpr (WithResidual) {
#pragma unroll
    for (int k = 0; k < Chunks; ++k) {
      if (column(k) < params.columns) store_chunk(params.sum.row(token, head) + column(k), sum[k]);
    }
  }
  __syncthreads();
  float const r = rms_norm::inverse_rms(sum_of_row<Groups>(shared), params.inverse_columns, params.epsilon);
#pragma unroll
  for (int k = 0; k < Chunks; ++k) {
    if (column(k) < params.columns) store_chunk(params.out.row(token, head) + column(k), normalize(sum[k], weight[k], r));
  }
}

} // namespace tik::operators::sm90
