// RMSNorm of rows that a block of threads shares, a row a block.
#pragma once

#include "operators/rms_norm/sm90/forward_chunk.cuh"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/row_sum.cuh"

namespace tik::operators::sm90 {

// Registers of a thread with so many chunks: 1024 threads of four chunks are resident, 1280 of two, 1536 of one. What the
// compiler takes when it is left alone keeps a multiprocessor from eight rows of 4096 columns at once, which at 1024 tokens
// means a second round of blocks.
constexpr int wide_registers(int chunks) { return 32 + 8 * chunks; }

// A thread has `Chunks` chunks of the row; `Groups`, a power of two, is at least the groups of a row.
template <int Chunks, int Groups, bool WithResidual>
__global__ void __maxnreg__(wide_registers(Chunks)) wide_rms_norm_kernel(NormParams const params) {
  __shared__ GroupSums shared;
  start_kernel_after();
  clear_missing_groups(shared, (params.columns / chunk_columns + group_chunks - 1) / group_chunks);
  int const token = params.heads.quotient(blockIdx.x);
  int const head = blockIdx.x - token * params.heads.divisor;
  auto const column = [&](int k) { return (k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * chunk_columns; };
  uint4 sum[Chunks], residual[Chunks], weight[Chunks];
  auto const load_weight = [&] {
#pragma unroll
    for (int k = 0; k < Chunks; ++k) weight[k] = column(k) < params.columns ? load_chunk(params.weight + column(k)) : uint4{};
  };

  if (params.weight_settled)
    load_weight(); // as many bytes as the row, from the L2 cache: a call of few microseconds shows them
  wait_for_kernel_before();
#pragma unroll
  for (int k = 0; k < Chunks; ++k) {
    bool const inside = column(k) < params.columns;
    sum[k] = inside ? load_chunk(params.x.row(token, head) + column(k)) : uint4{};
    if constexpr (WithResidual) residual[k] = inside ? load_chunk(params.residual.row(token, head) + column(k)) : uint4{};
  }
  if (!params.weight_settled) load_weight();

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
