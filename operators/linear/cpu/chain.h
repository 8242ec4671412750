// The canonical product of dense linear on CPUs: `chain_lanes` partial sums, element k added to number k % chain_lanes by a
// fused multiply-add in order of k, then folded by halves. It is written so that the compiler vectorizes across the lanes;
// several tokens go together only to convert a weight once.
#pragma once

#include "operators/row_sum.h"

namespace tik::operators::cpu {

inline constexpr int chain_lanes = 16; // divides every in_features

// sums[t] = <x[t], weight> for `Tokens` rows of x.
template <int Tokens>
inline void chain(tik_bf16 const* const (&x)[Tokens], tik_bf16 const* weight, int in_features, float (&sums)[Tokens]) {
  float lanes[Tokens][chain_lanes] = {};
  for (int k = 0; k < in_features; k += chain_lanes) {
    float w[chain_lanes];
    for (int lane = 0; lane < chain_lanes; ++lane) w[lane] = to_float(weight[k + lane]);
    for (int t = 0; t < Tokens; ++t) {
      for (int lane = 0; lane < chain_lanes; ++lane)
        lanes[t][lane] = multiply_add(to_float(x[t][k + lane]), w[lane], lanes[t][lane]);
    }
  }
  for (int t = 0; t < Tokens; ++t) sums[t] = fold_halves(lanes[t]);
}

} // namespace tik::operators::cpu
