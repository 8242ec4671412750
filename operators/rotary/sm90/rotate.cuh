// Eight columns of a head and their partners under a line of the table, for every kernel that rotates.
#pragma once

#include "operators/rotary/arithmetic.h"
#include "operators/sm90/rows.cuh"

namespace tik::operators::sm90 {

// Cosines and sines of eight pairs.
struct Turn {
  float cosine[8];
  float sine[8];
};

// line: [head_dim]; NULL gives what a token without a line gets.
__device__ __forceinline__ void load_turn(float const* line, int head_dim, int pair, Turn& turn) {
  if (line == nullptr) {
#pragma unroll
    for (int i = 0; i < 8; ++i) turn.cosine[i] = turn.sine[i] = rotary::missing();
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
    float4 const cosine = *reinterpret_cast<float4 const*>(line + pair + i);
    float4 const sine = *reinterpret_cast<float4 const*>(line + head_dim / 2 + pair + i);
    turn.cosine[i] = cosine.x, turn.cosine[i + 1] = cosine.y, turn.cosine[i + 2] = cosine.z, turn.cosine[i + 3] = cosine.w;
    turn.sine[i] = sine.x, turn.sine[i + 1] = sine.y, turn.sine[i + 2] = sine.z, turn.sine[i + 3] = sine.w;
  }
}

__device__ __forceinline__ void invert(Turn& turn) {
#pragma unroll
  for (int i = 0; i < 8; ++i) turn.sine[i] = -turn.sine[i];
}

// Columns below half of head_dim.
__device__ __forceinline__ uint4 rotate_first(uint4 const& x, uint4 const& partner, Turn const& turn) {
  float a[8], b[8];
  unpack(x, a);
  unpack(partner, b);
#pragma unroll
  for (int i = 0; i < 8; ++i) a[i] = rotary::first(a[i], b[i], turn.cosine[i], turn.sine[i]);
  return pack(a);
}

// Columns from half of head_dim.
__device__ __forceinline__ uint4 rotate_second(uint4 const& x, uint4 const& partner, Turn const& turn) {
  float a[8], b[8];
  unpack(x, a);
  unpack(partner, b);
#pragma unroll
  for (int i = 0; i < 8; ++i) a[i] = rotary::second(a[i], b[i], turn.cosine[i], turn.sine[i]);
  return pack(a);
}

} // namespace tik::operators::sm90
