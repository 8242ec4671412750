// RMSNorm of one row, for every operator of the CPU backend that normalises.
#pragma once

#include "operators/rms_norm/arithmetic.h"

namespace tik::operators::cpu {

struct Norm {
  int columns;
  float inverse_columns;
  float epsilon;

  Norm(int columns, float epsilon) : columns(columns), inverse_columns(rms_norm::inverse_columns(columns)), epsilon(epsilon) {}

  float inverse_rms(tik_bf16 const* x) const {
    float const squares = row_sum(columns, [&](int chunk) {
      float sum = 0;
      for (int c = chunk * chunk_columns; c < (chunk + 1) * chunk_columns; ++c)
        sum = rms_norm::accumulate_square(to_float(x[c]), sum);
      return sum;
    });
    return rms_norm::inverse_rms(squares, inverse_columns, epsilon);
  }

  // out may be x.
  void normalize(tik_bf16 const* x, tik_bf16 const* weight, tik_bf16* out) const {
    float const r = inverse_rms(x);
    for (int c = 0; c < columns; ++c)
      out[c] = to_bf16(rms_norm::scaled(rms_norm::normalized(to_float(x[c]), r), to_float(weight[c])));
  }
};

} // namespace tik::operators::cpu
