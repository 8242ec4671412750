// RMSNorm of rows of at most 256 columns, as in QK-norm: some lanes of a warp share rows.
#pragma once

#include "operators/rms_norm/sm90/forward_chunk.cuh"
#include "operators/rms_norm/sm90/inverse_rms.cuh"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {

inline constexpr int narrow_threads = 256;

// `Lanes` threads share a row, each with a chunk and the one `Lanes` chunks after it: the first fold by halves of a row of
// 2 * Lanes chunks adds the two. A thread has chunks of `Rows` rows on their way at once.
template <int Lanes, int Rows, bool WithResidual>
__global__ void __launch_bounds__(narrow_threads) narrow_rms_norm_kernel(NormParams const params) {
  start_kernel_after();
  constexpr int rows_at_once = narrow_threads / Lanes;
  int const first = blockIdx.x * rows_at_once * Rows + threadIdx.x / Lanes;
  int columns[2];
  bool inside[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    columns[k] = (threadIdx.x % Lanes + k * Lanes) * chunk_columns;
    inside[k] = columns[k] < params.columns;
  }
  uint4 sum[Rows][2], weight[2];
  int tokens[Rows], heads[Rows];

  wait_for_kernel_before();
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    int const row = first + i * rows_at_once;
    tokens[i] = params.heads.quotient(row);
    heads[i] = row - tokens[i] * params.heads.divisor;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      bool const present = row < params.rows && inside[k];
      sum[i][k] = present ? load_chunk(params.x.row(tokens[i], heads[i]) + columns[k]) : uint4{};
      if constexpr (WithResidual) {
        if (present) sum[i][k] = add_residual(sum[i][k], load_chunk(params.residual.row(tokens[i], heads[i]) + columns[k]));
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) weight[k] = inside[k] ? load_chunk(params.weight + columns[k]) : uint4{};

  float totals[Rows], inverse[Rows];
#pragma unroll
  for (int i = 0; i < Rows; ++i) totals[i] = add(squares(sum[i][0]), squares(sum[i][1]));
  inverse_rms_of_rows<Lanes>(totals, params.inverse_columns, params.epsilon, inverse);
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (first + i * rows_at_once >= params.rows || !inside[k]) continue;
      if constexpr (WithResidual) store_chunk(params.sum.row(tokens[i], heads[i]) + columns[k], sum[i][k]);
      store_chunk(params.out.row(tokens[i], heads[i]) + columns[k], normalize(sum[i][k], weight[k], inverse[i]));
    }
  }
}

} // namespace tik::operators::sm90
