// The canonical arithmetic of SwiGLU (docs/numerics.md, "SwiGLU"): the only place that computes it, for the CPU and for CUDA.
//
//   s   = 1 / (1 + exponential(-gate)); +0 where gate < -87, and as for 87 where gate > 87
//   a   = gate * s
//   out = bf16(a * up)
//
// Backward:
//   up_gradient   = bf16(out_gradient * a)
//   gate_gradient = bf16((out_gradient * up) * fma(a, 1 - s, s))
#pragma once

#include "operators/exponential.h"

namespace tik::operators::swiglu {

// s for |gate| <= largest_exponent. What it is for a NaN does not matter: a is one.
TIK_HOST_DEVICE float sigmoid_within(float gate) { return reciprocal_of_normal(add(1.0f, exponential(-gate))); }

// s for any gate.
TIK_HOST_DEVICE float sigmoid(float gate) {
  float const bounded = gate > largest_exponent ? largest_exponent : gate < -largest_exponent ? -largest_exponent : gate;
  return gate < -largest_exponent ? 0.0f : sigmoid_within(bounded);
}

// a. +0 or -0 far below zero, where gate is not infinite.
TIK_HOST_DEVICE float activated(float gate, float sigmoid) { return multiply(gate, sigmoid); }

TIK_HOST_DEVICE float gated(float activated, float up) { return multiply(activated, up); }

struct Gradients {
  float gate;
  float up;
};
TIK_HOST_DEVICE Gradients gradients(float gate, float up, float out_gradient, float s) {
  float const a = activated(gate, s);
  float const slope = multiply_add(a, subtract(1.0f, s), s);
  return {multiply(multiply(out_gradient, up), slope), multiply(out_gradient, a)};
}

} // namespace tik::operators::swiglu
