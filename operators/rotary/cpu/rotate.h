// One head under its line of the table, for every operator of the CPU backend that rotates.
#pragma once

#include "operators/rotary/arithmetic.h"
#include "operators/validation.h"

namespace tik::operators::cpu {

// x: [head_dim]; line: [head_dim], cosines then sines. out may be x.
inline void rotate(tik_bf16 const* x, float const* line, int head_dim, bool inverse, tik_bf16* out) {
  int const half = head_dim / 2;
  for (int i = 0; i < half; ++i) {
    float const low = to_float(x[i]);
    float const high = to_float(x[half + i]);
    float const sine = inverse ? -line[half + i] : line[half + i];
    out[i] = to_bf16(rotary::first(low, high, line[i], sine));
    out[half + i] = to_bf16(rotary::second(high, low, line[i], sine));
  }
}

// Refuses a position at or after the limit; negative ones are padding.
inline std::optional<Refusal> check_positions(int32_t const* positions, int32_t tokens, char const* limit_name, int32_t limit) {
  for (int32_t token = 0; token < tokens; ++token) {
    if (positions[token] < limit) continue;
    return validation::invalid("positions[", token, "] is ", positions[token], ", but must be below ", limit_name, " ", limit,
                               ".");
  }
  return std::nullopt;
}

} // namespace tik::operators::cpu
