// Numbers for the inputs of checks: pure functions of what they are for, so that a token can be written again anywhere.
#pragma once

#include <cmath>
#include <cstdint>

#include "operators/arithmetic.h"

namespace tik::operators::check {

// A mixed 64-bit number.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// About normal: the sum of four uniforms, scaled to a variance of 1. No transcendental function, so the same on every machine.
inline float near_normal(std::uint64_t key) {
  std::uint64_t const bits = mix(key);
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<int>(bits >> (16 * i) & 0xffff);
  return static_cast<float>(sum - 2 * 0xffff) * (1.7320508f / 65536.0f);
}

// What the numbers of a tensor look like.
enum class Distribution {
  normal,
  binades, // exponents spread over 20 binades
  sparse,  // half of all numbers are zeros of both signs
  large,   // 256 times as large
};

inline float sample(Distribution distribution, std::uint64_t key) {
  float const x = near_normal(key);
  std::uint64_t const choice = mix(key ^ 0x2545f4914f6cdd1dull);
  switch (distribution) {
    case Distribution::normal:
      return x;
    case Distribution::binades:
      return std::ldexp(x, static_cast<int>(choice % 20) - 12);
    case Distribution::sparse:
      return choice % 4 == 0 ? 0.0f : choice % 4 == 1 ? -0.0f : x;
    case Distribution::large:
      return x * 256;
  }
  return x;
}

// Fills a row of bfloat16 numbers of one token.
inline void write_row(tik_bf16* row, int columns, std::uint64_t seed, int token,
                      Distribution distribution = Distribution::normal, float scale = 1) {
  std::uint64_t const key = mix(seed ^ mix(static_cast<std::uint64_t>(token)));
  for (int c = 0; c < columns; ++c) row[c] = to_bf16(sample(distribution, key + static_cast<std::uint64_t>(c)) * scale);
}

// A stream of random numbers.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}
  std::uint64_t next() { return mix(state_++); }
  int between(int smallest, int largest) {
    return smallest + static_cast<int>(next() % static_cast<std::uint64_t>(largest - smallest + 1));
  }

 private:
  std::uint64_t state_;
};

} // namespace tik::operators::check
