// What every forward kernel does with eight columns of a row.
#pragma once

#include "operators/rms_norm/arithmetic.h"
#include "operators/rms_norm/contract.h"
#include "operators/sm90/rows.cuh"

namespace tik::operators::sm90 {

struct NormParams {
  SourceRows x;
  SourceRows residual;
  tik_bf16 const* weight;
  bool weight_settled;
  TargetRows sum;
  TargetRows out;
  int rows;
  Divisor heads;
  int columns;
  float inverse_columns;
  float epsilon;
};

// x + residual as it is stored and normalised.
__device__ __forceinline__ uint4 add_residual(uint4 const& x, uint4 const& residual) {
  float a[8], b[8];
  unpack(x, a);
  unpack(residual, b);
#pragma unroll
  for (int i = 0; i < 8; ++i) a[i] = add(a[i], b[i]);
  return pack(a);
}

// The chain of squares of a chunk.
__device__ __forceinline__ float squares(uint4 const& chunk) {
  float x[8];
  unpack(chunk, x);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = rms_norm::accumulate_square(x[i], sum);
  return sum;
}

__device__ __forceinline__ uint4 normalize(uint4 const& chunk, uint4 const& weight, float inverse_rms) {
  float x[8], w[8];
  unpack(chunk, x);
  unpack(weight, w);
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = rms_norm::scaled(rms_norm::normalized(x[i], inverse_rms), w[i]);
  return pack(x);
}

} // namespace tik::operators::sm90
