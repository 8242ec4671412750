// The canonical arithmetic of the softmax over a vocabulary (docs/numerics.md, "Language-model head"): the only place that
// computes it, for the CPU and for CUDA. What follows the logits is the same bits on every backend.
//
//   z       = logit * inverse_temperature
//   part    = 1024 columns from an absolute multiple of 1024; of them
//     m     = largest z
//     s, t  = sums of w and of w * d with d = max(z - m, -87), w = exponential(d): 32 chains from +0, column c in chain
//             c % 128 / 4 in order of c, then folded by halves
//   M       = largest m of all parts
//   S, T    = sums over parts of s * b and (t + s * d) * b with d = max(m - M, -87), b = exponential(d): 32 chains from +0,
//   part p in
//             chain p % 32 in order of p, then folded by halves
//   log_sum = M + ln S,  log_probability = (z[target] - M) - ln S,  entropy = ln S - T / S
#pragma once

#include "operators/exponential.h"
#include "operators/logarithm.h"
#include "operators/row_sum.h"

namespace tik::operators::language_model_head {

inline constexpr int part_columns = 1024;
inline constexpr int chains = 32;
inline constexpr int chain_columns = 4; // neighbours in a chain
inline constexpr int round_columns = chains * chain_columns;

TIK_HOST_DEVICE float larger(float a, float b) { return a > b ? a : b; }

// From a maximum down to z, bounded where the exponential ends.
TIK_HOST_DEVICE float below(float z, float maximum) { return larger(subtract(z, maximum), -largest_exponent); }

// What is known of a part, or of all.
struct Sums {
  float maximum;
  float weights;
  float weighted; // sum of weight times distance below the maximum
};

// One column, given its distance below the maximum.
TIK_HOST_DEVICE void add_column(float distance, float& weights, float& weighted) {
  float const weight = exponential(distance);
  weights = add(weights, weight);
  weighted = multiply_add(weight, distance, weighted);
}

// One part, with the maximum of all parts known.
TIK_HOST_DEVICE void add_part(Sums const& part, float maximum, float& weights, float& weighted) {
  float const distance = below(part.maximum, maximum);
  float const factor = exponential(distance);
  weights = multiply_add(part.weights, factor, weights);
  weighted = multiply_add(multiply_add(part.weights, distance, part.weighted), factor, weighted);
}

struct Row {
  float log_sum;
  float log_probability;
  float entropy;
};
TIK_HOST_DEVICE Row finish(Sums const& all, float target_z) {
  float const logarithm = natural_logarithm(all.weights);
  return {add(all.maximum, logarithm), subtract(subtract(target_z, all.maximum), logarithm),
          subtract(logarithm, multiply(all.weighted, reciprocal(all.weights)))};
}

// What is written for a token: 0 where nothing was asked for, NaN for a target that the vocabulary does not have.
TIK_HOST_DEVICE float log_probability_of(Row const& row, int target, int vocabulary) {
  return target < 0 ? 0.0f : target < vocabulary ? row.log_probability : bits_to_float(0x7fffffff);
}

// The gradient of a logit before it is rounded.
struct RowGradient {
  float log_sum;
  float entropy;
  float log_probability_gradient;
  float entropy_gradient;
  float inverse_temperature;
};
TIK_HOST_DEVICE float logit_gradient(RowGradient const& row, float z, bool target) {
  float const distance = below(z, row.log_sum);
  float const p = exponential(distance);
  float const gradient = multiply(row.log_probability_gradient, subtract(target ? 1.0f : 0.0f, p));
  float const spread = multiply(p, add(distance, row.entropy));
  return multiply(subtract(gradient, multiply(row.entropy_gradient, spread)), row.inverse_temperature);
}

} // namespace tik::operators::language_model_head
