// RMSNorm of rows of at most 256 columns, as in QK-norm: some lanes of a warp share rows.
#pragma once

#include "operators/rms_norm/sm90/forward_chunk.cuh"
#include "operators/rms_norm/sm90/inverse_rms.cuh"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {

inline constexpr int narrow_threads = 256;

// `Lanes` threads share a row, each with a chunk and the one `Lanes` chunks after it: the first fold by halves of a row of
// 2 * Lanes chunks adds the two.
template <int Lanes, bool WithResidual>
__global__ void __launch_bounds__(narrow_threads) narrow_rms_norm_kernel(NormParams const params) {
  start_kernel_after();
  int const row = blockIdx.x * (narrow_threads / Lanes) + threadIdx.x / Lanes;
  int const token = params.heads.quotient(row);
  int const head = row - token * params.heads.divisor;
  int columns[2];
  bool inside[2], present[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    columns[k] = (threadIdx.x % Lanes + k * Lanes) * chunk_columns;
    inside[k] = columns[k] < params.columns;
    present[k] = inside[k] && row < params.rows;
  }
  uint4 sum[2], weight[2];
  auto const load_weight = [&] {
#pragma unroll
    for (int k = 0; k < 2; ++k) weight[k] = inside[k] ? load_chunk(params.weight + columns[k]) : uint4{};
  };

  if (params.weight_settled) load_weight();
  wait_for_kernel_before();
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    sum[k] = present[k] ? load_chunk(params.x.row(token, head) + columns[k]) : uint4{};
    if constexpr (WithResidual) {
      if (present[k]) sum[k] = add_residual(sum[k], load_chunk(params.residual.row(token, head) + columns[k]));
    }
  }
  if (!params.weight_settled) load_weight();

  float total[1] = {add(squares(sum[0]), squares(sum[1]))};
  float inverse[1];
  inverse_rms_of_rows<Lanes>(total, params.inverse_columns, params.epsilon, inverse);
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    if (!present[k]) continue;
    if constexpr (WithResidual) store_chunk(params.sum.row(token, head) + columns[k], sum[k]);
    store_chunk(params.out.row(token, head) + columns[k], normalize(sum[k], weight[k], inverse[0]));
  }
}

} // namespace tik::operators::sm90
