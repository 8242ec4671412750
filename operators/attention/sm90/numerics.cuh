// The canonical arithmetic of attention on Hopper: the only place that computes it. docs/numerics.md says why each step does
// not depend on tile, batch, page or cut. Every kernel in this folder includes this header and adds only data movement.
//
// The program of one query row at position p (docs/numerics.md, "Attention on Hopper"):
//
//   for part = 0 .. p / part_keys:                        parts lie at absolute positions
//     for tile = each tile of tile_keys keys in the part, up to the one that holds p:
//       s[j]  = chain of k16 steps over head_dim, from +0              (tensor core, bf16 x bf16 -> fp32)
//       s[j]  = -infinity where j > p
//       m'    = reference(m, max_j s[j])                               (m = -infinity at the start of a part)
//       w[j]  = weight(s[j], m')
//       alpha = rescale(m, m')
//       l[t]  = first tile of the part ? tile_sum_t(w) : fma(l[t], alpha, tile_sum_t(w))      (t = 0..3, see TileSum)
//       o[:]  = chain of 8 k16 steps over the tile, bf16(w) x v, from  first tile ? +0 : o[:] * alpha
//       m     = m'
//     l = (l[0] + l[1]) + (l[2] + l[3])
//     fold(m, l, o) into the row's total: the first part moves, later parts follow fold()
//   out = bf16(O * reciprocal(L)),  lse = log_sum_exp(M, L)
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace tik::attention::sm90 {

inline constexpr int tile_keys = 128;
inline constexpr int part_keys = 1024;
inline constexpr int tiles_per_part = part_keys / tile_keys;
inline constexpr int sum_classes = 4;

static_assert(part_keys % tile_keys == 0);

// softmax_scale * log2(e), rounded once on the host. Every kernel takes this value, never the scale itself.
__host__ inline float scale_log2(float softmax_scale) {
  return static_cast<float>(static_cast<double>(softmax_scale) * 1.4426950408889634074);
}

__device__ __forceinline__ float exp2_ftz(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// What the weights of a part are relative to: a maximum that moves only when a score passes it by more than a factor of 2^8 in
// weight. So after the first tile of a part there is rarely anything to rescale, and weights stay below 2^8, far from where
// fp32 or bf16 would overflow. m is the maximum of a tile, with or without those before it.
inline constexpr float largest_lag = 8.0f;
__device__ __forceinline__ float reference(float before, float m, float scale_log2) {
  return __fmul_rn(__fsub_rn(m, before), scale_log2) > largest_lag ? m : before;
}

// The reference times the scale, rounded once; weight() takes it so that it is computed once a row and tile.
__device__ __forceinline__ float scaled_max(float m, float scale_log2) { return __fmul_rn(m, scale_log2); }

// w = 2^(s * scale - m * scale). A masked score is -infinity and gives exactly +0. m is finite: a row never executes a tile
// in which it sees no key.
__device__ __forceinline__ float weight(float s, float scale_log2, float scaled_max) {
  return exp2_ftz(__fmaf_rn(s, scale_log2, -scaled_max));
}

// What the old sums are multiplied with when the reference moves from m_old to m_new >= m_old. 1 when it stays.
__device__ __forceinline__ float rescale(float m_old, float m_new, float scale_log2) {
  return exp2_ftz(__fmul_rn(__fsub_rn(m_old, m_new), scale_log2));
}

// The row sum of a tile. Key j of the tile belongs to class t = (j % 8) / 2, which is how a wgmma accumulator spreads a row
// over four lanes. A class holds, for each group g = 0..7 of 16 keys, the four weights of keys 16g + 2t + {0, 1, 8, 9}:
//   group_sum = (w[0] + w[1]) + (w[8] + w[9])
//   half_sum  = (g0 + g1) + (g2 + g3), of four groups
//   tile_sum  = half_sum(g0 .. g3) + half_sum(g4 .. g7)
// A kernel may stop at any level of this tree and do the rest of it later with pair_sum().
__device__ __forceinline__ float pair_sum(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float group_sum(float w0, float w1, float w8, float w9) {
  return pair_sum(pair_sum(w0, w1), pair_sum(w8, w9));
}
__device__ __forceinline__ float half_sum(float g0, float g1, float g2, float g3) {
  return pair_sum(pair_sum(g0, g1), pair_sum(g2, g3));
}
__device__ __forceinline__ float tile_sum(float half0, float half1) { return pair_sum(half0, half1); }
__device__ __forceinline__ float tile_sum(float g0, float g1, float g2, float g3, float g4, float g5, float g6, float g7) {
  return tile_sum(half_sum(g0, g1, g2, g3), half_sum(g4, g5, g6, g7));
}
__device__ __forceinline__ float accumulate_sum(float l, float alpha, float tile) { return __fmaf_rn(l, alpha, tile); }
__device__ __forceinline__ float part_sum(float l0, float l1, float l2, float l3) {
  return __fadd_rn(__fadd_rn(l0, l1), __fadd_rn(l2, l3));
}

// Two weights as they enter the product with V.
__device__ __forceinline__ uint32_t pack_weights(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

__device__ __forceinline__ float rescale_output(float o, float alpha) { return __fmul_rn(o, alpha); }

// Folding a part (m, l, o) into the total (M, L, O), parts in order. The first part is moved, not folded.
struct FoldFactors {
  float total; // multiplies L and O
  float part;  // multiplies l and o
};
__device__ __forceinline__ float fold_max(float total_m, float part_m) { return fmaxf(total_m, part_m); }
__device__ __forceinline__ FoldFactors fold_factors(float total_m, float part_m, float scale_log2) {
  float const m = fold_max(total_m, part_m);
  return {rescale(total_m, m, scale_log2), rescale(part_m, m, scale_log2)};
}
__device__ __forceinline__ float fold(float total, float part, FoldFactors f) {
  return __fmaf_rn(part, f.part, __fmul_rn(total, f.total));
}

__device__ __forceinline__ float reciprocal(float total_l) { return __frcp_rn(total_l); }
__device__ __forceinline__ float finish(float total_o, float reciprocal_l) { return __fmul_rn(total_o, reciprocal_l); }

// ln(sum of exp(softmax_scale * s)) = (M * scale_log2 + log2(L)) * ln(2)
__device__ __forceinline__ float log_sum_exp(float total_m, float total_l, float scale_log2) {
  float log2_l;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log2_l) : "f"(total_l));
  return __fmul_rn(__fmaf_rn(total_m, scale_log2, log2_l), 0.693147180559945309f);
}

} // namespace tik::attention::sm90
