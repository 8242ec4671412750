// Queries, keys and values of whole sequences, and the outputs that belong to them: what every test of attention compares by.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "operators/attention/contract.h"

namespace tik::attention::testing {

struct Heads {
  int query_heads;
  int kv_heads;
  int head_dim;
};

inline tik_attention_shape shape_of(Heads heads) {
  return {heads.query_heads, heads.kv_heads, heads.head_dim, 1 / std::sqrt(static_cast<float>(heads.head_dim))};
}

constexpr tik_bf16 nan_bf16 = 0x7fc1;    // fills what must not be read
constexpr tik_bf16 poison_bf16 = 0xffa5; // fills outputs: a NaN that no arithmetic gives
constexpr float poison_lse = -12345.25f;

// Drops the low 16 bits: inputs need no rounding.
inline tik_bf16 bf16_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<tik_bf16>(bits >> 16);
}

inline float float_of(tik_bf16 x) {
  uint32_t const bits = static_cast<uint32_t>(x) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

// A sequence: queries [tokens, query_heads, head_dim], keys and values [tokens, kv_heads, head_dim].
struct Trajectory {
  Heads heads;
  int tokens;
  std::vector<tik_bf16> queries, keys, values;

  int query_width() const { return heads.query_heads * heads.head_dim; }
  int kv_width() const { return heads.kv_heads * heads.head_dim; }
};

inline std::vector<tik_bf16> random_numbers(std::size_t count, float spread, std::mt19937& random) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<tik_bf16> numbers(count);
  for (auto& number : numbers) number = bf16_of(normal(random));
  return numbers;
}

inline Trajectory random_trajectory(Heads heads, int tokens, unsigned seed, float query_spread = 1) {
  std::mt19937 random(seed);
  Trajectory trajectory{heads, tokens, {}, {}, {}};
  trajectory.queries = random_numbers(std::size_t(tokens) * trajectory.query_width(), query_spread, random);
  trajectory.keys = random_numbers(std::size_t(tokens) * trajectory.kv_width(), 1, random);
  trajectory.values = random_numbers(std::size_t(tokens) * trajectory.kv_width(), 1, random);
  return trajectory;
}

// Its first `tokens` tokens.
inline Trajectory prefix_of(Trajectory trajectory, int tokens) {
  trajectory.tokens = tokens;
  trajectory.queries.resize(std::size_t(tokens) * trajectory.query_width());
  trajectory.keys.resize(std::size_t(tokens) * trajectory.kv_width());
  trajectory.values.resize(std::size_t(tokens) * trajectory.kv_width());
  return trajectory;
}

// What attention gave for the tokens of one trajectory: out [tokens, query_heads, head_dim], lse [tokens, query_heads].
struct Outputs {
  std::vector<tik_bf16> out;
  std::vector<float> lse;

  explicit Outputs(Trajectory const& trajectory)
      : out(std::size_t(trajectory.tokens) * trajectory.query_width(), poison_bf16),
        lse(std::size_t(trajectory.tokens) * trajectory.heads.query_heads, poison_lse) {}

  // Takes row `row` of a call's outputs as those of `token`.
  void take(int token, std::vector<tik_bf16> const& call_out, std::vector<float> const& call_lse, int64_t row, Heads heads) {
    std::size_t const width = std::size_t(heads.query_heads) * heads.head_dim;
    std::memcpy(out.data() + token * width, call_out.data() + row * width, width * sizeof(tik_bf16));
    std::memcpy(lse.data() + token * heads.query_heads, call_lse.data() + row * heads.query_heads,
                heads.query_heads * sizeof(float));
  }
};

// The first token whose bits differ, or -1 when the tokens [begin, end) agree.
inline int first_difference(Outputs const& a, Outputs const& b, Heads heads, int begin, int end) {
  std::size_t const width = std::size_t(heads.query_heads) * heads.head_dim;
  for (int token = begin; token < end; ++token) {
    if (std::memcmp(a.out.data() + token * width, b.out.data() + token * width, width * sizeof(tik_bf16)) != 0 ||
        std::memcmp(a.lse.data() + token * heads.query_heads, b.lse.data() + token * heads.query_heads,
                    heads.query_heads * sizeof(float)) != 0) {
      return token;
    }
  }
  return -1;
}

} // namespace tik::attention::testing
