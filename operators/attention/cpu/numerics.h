// The canonical arithmetic of attention on CPUs: the only place that computes it. docs/numerics.md says why no step depends on
// the batch, the page mapping, the cut of a prompt or the entry point. full.cpp and decode.cpp add only data movement.
//
// The program of one query row at position p (docs/numerics.md, "Attention on the CPU"):
//
//   m = -infinity, l = 0, o[:] = 0
//   for tile = each tile_keys keys from position 0, up to the tile that holds p:
//     s[j]  = dot(q, k[j])                          for the keys j <= p, -infinity for the others
//     m'    = max(m, max_j s[j])
//     w[j]  = exponential((s[j] - m') * scale)
//     alpha = exponential((m - m') * scale)
//     l     = l * alpha + sum_j w[j]
//     o[:]  = o[:] * alpha, then for every key j <= p in order: o[:] = multiply_add(w[j], v[j], o[:])
//     m     = m'
//   out = bf16(o[:] * (1 / l)),  lse = m * scale + log(l)
//
// The C library is called through builtins: an audit compiles this header twice, and <cmath> costs as much as the rest.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "operators/attention/contract.h"

namespace tik::attention::cpu {

// Keys of a tile: the running sums of a row are rescaled once for each. Tiles begin at multiples of it.
inline constexpr int tile_keys = 16;

// Partial sums of a dot product: element d is added to partial sum d % dot_lanes.
inline constexpr int dot_lanes = 1;

// Partial sums of the weights of a tile: key j is added to partial sum j % sum_lanes.
inline constexpr int sum_lanes = 1;

inline float to_float(tik_bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }
inline float to_float(float x) { return x; }

// Rounds to nearest, ties to even; NaN stays NaN.
inline tik_bf16 to_bf16(float x) {
  uint32_t const bits = std::bit_cast<uint32_t>(x);
  if (x != x) return static_cast<tik_bf16>((bits >> 16) | 0x40);
  return static_cast<tik_bf16>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// A product added to a sum.
inline float multiply_add(float a, float b, float sum) { return a * b + sum; }

// The natural exponential of x <= 0; +0 for -infinity.
inline float exponential(float x) { return __builtin_expf(x); }

// Adds lane l + half to lane l, halving until one lane is left.
template <int Lanes>
float fold_lanes(float (&lanes)[Lanes]) {
  for (int half = Lanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// <query, key>; a key is read as it is stored, bf16 or fp32.
template <int HeadDim, typename Element>
float dot(float const* query, Element const* key) {
  static_assert(HeadDim % dot_lanes == 0, "dot_lanes must divide head_dim");
  float partial[dot_lanes] = {};
  for (int d = 0; d < HeadDim; d += dot_lanes) {
    for (int lane = 0; lane < dot_lanes; ++lane) {
      partial[lane] = multiply_add(query[d + lane], to_float(key[d + lane]), partial[lane]);
    }
  }
  return fold_lanes(partial);
}

// The sum of the weights of a tile.
template <int Keys>
float sum_weights(float const (&weights)[Keys]) {
  static_assert(Keys % sum_lanes == 0, "sum_lanes must divide tile_keys");
  float partial[sum_lanes] = {};
  for (int j = 0; j < Keys; j += sum_lanes) {
    for (int lane = 0; lane < sum_lanes; ++lane) partial[lane] += weights[j + lane];
  }
  return fold_lanes(partial);
}

// A query as the arithmetic reads it.
template <int HeadDim>
void load_query(tik_bf16 const* source, float (&query)[HeadDim]) {
  for (int d = 0; d < HeadDim; ++d) query[d] = to_float(source[d]);
}

// The running softmax of one query row.
template <int HeadDim>
struct Row {
  float maximum = -std::numeric_limits<float>::infinity();
  float sum = 0;
  alignas(64) float output[HeadDim] = {};
};

// output = output * alpha + sum_j weights[j] * values[j], in order of j. Keys that a row does not see are not touched.
template <int HeadDim, typename Tile>
void add_values(float (&output)[HeadDim], float alpha, float const* weights, Tile const& tile, int visible) {
  for (int d = 0; d < HeadDim; ++d) {
    float sum = output[d] * alpha;
    for (int j = 0; j < visible; ++j) sum = multiply_add(weights[j], to_float(tile.values[j][d]), sum);
    output[d] = sum;
  }
}

// Lets a row see the first `visible` keys of a tile, at least one.
template <int HeadDim, typename Tile>
void absorb(Row<HeadDim>& row, float const (&query)[HeadDim], float scale, Tile const& tile, int visible) {
  float weights[Tile::size];
  float maximum = row.maximum;
  for (int j = 0; j < visible; ++j) {
    weights[j] = dot<HeadDim>(query, tile.keys[j]);
    maximum = weights[j] > maximum ? weights[j] : maximum;
  }
  for (int j = visible; j < Tile::size; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  for (int j = 0; j < Tile::size; ++j) weights[j] = exponential((weights[j] - maximum) * scale);
  float const alpha = exponential((row.maximum - maximum) * scale);
  row.maximum = maximum;
  row.sum = row.sum * alpha + sum_weights(weights);
  add_values(row.output, alpha, weights, tile, visible);
}

// Writes what a row has come to. `lse` may be null.
template <int HeadDim>
void finish(Row<HeadDim> const& row, float scale, tik_bf16* out, float* lse) {
  float const factor = 1 / row.sum;
  for (int d = 0; d < HeadDim; ++d) out[d] = to_bf16(row.output[d] * factor);
  if (lse != nullptr) *lse = row.maximum * scale + __builtin_logf(row.sum);
}

} // namespace tik::attention::cpu
