// The canonical arithmetic of RMSNorm (docs/numerics.md, "RMSNorm"): the only place that computes it, for the CPU and for CUDA.
//
//   s = row sum of x * x                                     (row_sum.h; a chunk is a chain of fused multiply-adds from +0)
//   r = 1 / sqrt(fma(s, 1 / columns, epsilon))
//   out[c] = bf16((x[c] * r) * weight[c])
//
// Backward, for a row, with r as above, g[c] = out_gradient[c] * weight[c] and h[c] = x[c] * r:
//   m = ((row sum of g * x) * r) * (1 / columns)
//   x_gradient[c] = bf16(fma(fma(-h[c], m, g[c]), r, sum_gradient[c]))     (a product where there is no sum_gradient)
// and for the weight, over rows in order of row = token * heads + head, for each column:
//   block = chain of fma(out_gradient, h, .) from +0 over the rows of one multiple of block_rows
//   span  = chain of additions from the first of the span_blocks blocks of one multiple of span_blocks
//   weight_gradient = ((weight_gradient + span 0) + span 1) + ...
#pragma once

#include "operators/row_sum.h"

namespace tik::operators::rms_norm {

inline constexpr int block_rows = 32;
inline constexpr int span_blocks = 64;

TIK_HOST_DEVICE float accumulate_square(float x, float sum) { return multiply_add(x, x, sum); }

TIK_HOST_DEVICE float inverse_columns(int columns) { return reciprocal(static_cast<float>(columns)); }

TIK_HOST_DEVICE float inverse_rms(float sum_of_squares, float inverse_columns, float epsilon) {
  return reciprocal(square_root(multiply_add(sum_of_squares, inverse_columns, epsilon)));
}

TIK_HOST_DEVICE float normalized(float x, float inverse_rms) { return multiply(x, inverse_rms); }

TIK_HOST_DEVICE float scaled(float normalized, float weight) { return multiply(normalized, weight); }

// g, and the chain of g * x.
TIK_HOST_DEVICE float weighted(float out_gradient, float weight) { return multiply(out_gradient, weight); }
TIK_HOST_DEVICE float accumulate_product(float weighted, float x, float sum) { return multiply_add(weighted, x, sum); }

// m, from the row sum of g * x.
TIK_HOST_DEVICE float mean_product(float sum, float inverse_rms, float inverse_columns) {
  return multiply(multiply(sum, inverse_rms), inverse_columns);
}

TIK_HOST_DEVICE float centered(float weighted, float normalized, float mean_product) {
  return multiply_add(-normalized, mean_product, weighted);
}

TIK_HOST_DEVICE float x_gradient(float centered, float inverse_rms) { return multiply(centered, inverse_rms); }
TIK_HOST_DEVICE float x_gradient(float centered, float inverse_rms, float sum_gradient) {
  return multiply_add(centered, inverse_rms, sum_gradient);
}

TIK_HOST_DEVICE float accumulate_weight(float out_gradient, float normalized, float block) {
  return multiply_add(out_gradient, normalized, block);
}

} // namespace tik::operators::rms_norm
