// The canonical arithmetic of RoPE (docs/numerics.md, "RoPE"): the only place that computes it, for the CPU and for CUDA.
//
//   first  = bf16(fma(x[i], cos, -(x[i + half] * sin)))
//   second = bf16(fma(x[i + half], cos, x[i] * sin))
#pragma once

#include "operators/arithmetic.h"

namespace tik::operators::rotary {

// Column i, below half of head_dim, with its partner i + half.
TIK_HOST_DEVICE float first(float x, float partner, float cosine, float sine) {
  return multiply_add(x, cosine, -multiply(partner, sine));
}

// Column i + half, with its partner i.
TIK_HOST_DEVICE float second(float x, float partner, float cosine, float sine) {
  return multiply_add(x, cosine, multiply(partner, sine));
}

// What a token without a line in the table gets.
TIK_HOST_DEVICE float missing() { return bits_to_float(0x7fffffff); }

} // namespace tik::operators::rotary
