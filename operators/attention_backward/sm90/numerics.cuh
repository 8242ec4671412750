// The canonical arithmetic of attention's gradients on Hopper (docs/numerics.md, "Gradients of attention"): the only place that
// computes it. The kernels of this folder add data movement. Products are chains of k16 steps on the tensor core.
#pragma once

#include "operators/arithmetic.h"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::operators::attention_backward {

// Queries, or keys, of a block of threads: gradients of keys begin at the multiple of it below the key.
inline constexpr int tile_rows = 64;

// lse in the scale of exponents of two. A row past the end of a sequence has zeros for all it holds, so it adds nothing,
// whatever its weight is.
__device__ __forceinline__ float lse_log2(float lse) { return multiply(lse, 1.44269504f); }

// p of the contract.
__device__ __forceinline__ float weight(float score, float scale_log2, float lse_log2) {
  return attention::sm90::exp2_ftz(multiply_add(score, scale_log2, -lse_log2));
}

// d of the contract: `mean` is <out_gradient, out>, a sum over a row as operators/row_sum.h has it.
__device__ __forceinline__ float score_gradient(float weight, float weight_gradient, float mean) {
  return multiply(weight, subtract(weight_gradient, mean));
}

} // namespace tik::operators::attention_backward
