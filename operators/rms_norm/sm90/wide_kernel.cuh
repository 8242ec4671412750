// RMSNorm of rows that a block of threads shares. A block takes every gridDim.x-th row and loads the next while it adds up the
// present one.
#pragma once

#include "operators/rms_norm/sm90/forward_chunk.cuh"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/row_sum.cuh"

namespace tik::operators::sm90 {

// A thread has `Chunks` chunks of each row; `Groups`, a power of two, is at least the groups of a row.
template <int Chunks, int Groups, bool WithResidual>
__global__ void wide_rms_norm_kernel(NormParams const params) {
  __shared__ GroupSums shared[2]; // in turns, so that one barrier a row suffices
  int const chunks = params.columns / chunk_columns;
  int const groups = (chunks + group_chunks - 1) / group_chunks;
  clear_missing_groups(shared[0], groups);
  clear_missing_groups(shared[1], groups);

  auto const column = [&](int k) { return (k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * chunk_columns; };
  uint4 x[Chunks], residual[Chunks], weight[Chunks];
  auto const load_row = [&](int row) {
    int const token = params.heads.quotient(row);
    int const head = row - token * params.heads.divisor;
#pragma unroll
    for (int k = 0; k < Chunks; ++k) {
      bool const inside = column(k) < params.columns;
      x[k] = inside ? load_chunk(params.x.row(token, head) + column(k)) : uint4{};
      if constexpr (WithResidual) residual[k] = inside ? load_chunk(params.residual.row(token, head) + column(k)) : uint4{};
    }
  };

  wait_for_kernel_before();
  int row = blockIdx.x;
  load_row(row);
#pragma unroll
  for (int k = 0; k < Chunks; ++k) {
    weight[k] = column(k) < params.columns ? load_chunk(params.weight + column(k)) : uint4{};
  }
  start_kernel_after();

  for (int turn = 0; row < params.rows; turn ^= 1) {
    int const token = params.heads.quotient(row);
    int const head = row - token * params.heads.divisor;
    uint4 sum[Chunks];
    float chunk_sums[Chunks];
#pragma unroll
    for (int k = 0; k < Chunks; ++k) {
      sum[k] = WithResidual ? add_residual(x[k], residual[k]) : x[k];
      chunk_sums[k] = squares(sum[k]);
    }
    row += gridDim.x;
    if (row < params.rows) load_row(row);
    share_groups<Chunks>(chunk_sums, shared[turn]);
    if constexpr (WithResidual) {
#pragma unroll
      for (int k = 0; k < Chunks; ++k) {
        if (column(k) < params.columns) store_chunk(params.sum.row(token, head) + column(k), sum[k]);
      }
    }
    __syncthreads();
    float const r = rms_norm::inverse_rms(sum_of_row<Groups>(shared[turn]), params.inverse_columns, params.epsilon);
#pragma unroll
    for (int k = 0; k < Chunks; ++k) {
      if (column(k) < params.columns) store_chunk(params.out.row(token, head) + column(k), normalize(sum[k], weight[k], r));
    }
  }
}

} // namespace tik::operators::sm90
