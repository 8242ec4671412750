// RMSNorm of rows of at most 256 columns, as in QK-norm: some lanes of a warp share a row, each with one chunk.
#pragma once

#include "operators/rms_norm/sm90/forward_chunk.cuh"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/row_sum.cuh"

namespace tik::operators::sm90 {

inline constexpr int narrow_threads = 256;

// `Lanes` threads share a row; a thread has chunks of `Rows` rows on their way at once.
template <int Lanes, int Rows, bool WithResidual>
__global__ void __launch_bounds__(narrow_threads) narrow_rms_norm_kernel(NormParams const params) {
  constexpr int rows_at_once = narrow_threads / Lanes;
  int const first = blockIdx.x * rows_at_once * Rows + threadIdx.x / Lanes;
  int const column = threadIdx.x % Lanes * chunk_columns;
  bool const inside = column < params.columns;
  uint4 sum[Rows];
  int tokens[Rows], heads[Rows];

  wait_for_kernel_before();
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    int const row = first + i * rows_at_once;
    tokens[i] = params.heads.quotient(row);
    heads[i] = row - tokens[i] * params.heads.divisor;
    bool const present = row < params.rows && inside;
    sum[i] = present ? load_chunk(params.x.row(tokens[i], heads[i]) + column) : uint4{};
    if constexpr (WithResidual) {
      if (present) sum[i] = add_residual(sum[i], load_chunk(params.residual.row(tokens[i], heads[i]) + column));
    }
  }
  uint4 const weight = inside ? load_chunk(params.weight + column) : uint4{};
  start_kernel_after();

#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    float const total = sum_of_lanes<Lanes>(squares(sum[i]));
    float const r = rms_norm::inverse_rms(total, params.inverse_columns, params.epsilon);
    if (first + i * rows_at_once >= params.rows || !inside) continue;
    if constexpr (WithResidual) store_chunk(params.sum.row(tokens[i], heads[i]) + column, sum[i]);
    store_chunk(params.out.row(tokens[i], heads[i]) + column, normalize(sum[i], weight, r));
  }
}

} // namespace tik::operators::sm90
