// The softmax of the full-sequence kernel, on scores in the registers of a wgmma accumulator (full_overlapped.cuh says which
// lane holds what): mask, running reference and sum, weights, and the fold of a finished part.
#pragma once

#include "operators/attention/sm90/full_shared.cuh"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::attention::sm90 {

// Reference and sum of the two rows of a lane.
struct RowState {
  float m[2];
  float l[2]; // within a part the lane's class of the sum, in total the whole sum

  // A part that has seen no tile. Its first tile multiplies the sum by alpha = 0 and so starts it afresh.
  __device__ __forceinline__ void restart() {
    for (int half = 0; half < 2; ++half) {
      m[half] = -INFINITY;
      l[half] = 0;
    }
  }
};

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

// (l0 + l1) + (l2 + l3) over the four lanes of a row; addition commutes, so every lane gets the same bits.
__device__ __forceinline__ float quad_part_sum(float l) {
  float const pair = __fadd_rn(l, __shfl_xor_sync(~0u, l, 1));
  return __fadd_rn(pair, __shfl_xor_sync(~0u, pair, 2));
}

// -infinity where the row does not see the key. Row and keys count from the start of the tile; keys below `first` are seen.
template <int keys>
__device__ __forceinline__ void mask_scores(float (&s)[keys / 2], int first, int row) {
  int const lane_in_quad = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < keys / 2; ++i) {
    if (i / 4 * 8 < first) continue;
    int const key = i / 4 * 8 + 2 * lane_in_quad + i % 2;
    if (key > row + i / 2 % 2 * 8) s[i] = -INFINITY;
  }
}

// The rows' reference follows their maximum. alpha is what sums and output of the part are to be multiplied with, shift what
// weight() takes. There is an instruction for the maximum of three integers, but none for three floats; where the result is not
// negative, both orders agree.
template <int keys>
__device__ __forceinline__ void advance_max(float const (&s)[keys / 2], RowState& part, float (&alpha)[2], float (&shift)[2],
                                            float scale) {
  float const before[2] = {part.m[0], part.m[1]};
  int top[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int even = __float_as_int(before[half]);
    int odd = even;
#pragma unroll
    for (int block = 0; block < keys / 8; block += 2) {
      even = __vimax3_s32(even, __float_as_int(s[4 * block + 2 * half]), __float_as_int(s[4 * block + 2 * half + 1]));
      odd = __vimax3_s32(odd, __float_as_int(s[4 * block + 4 + 2 * half]), __float_as_int(s[4 * block + 4 + 2 * half + 1]));
    }
    int x = max(even, odd);
    x = max(x, __shfl_xor_sync(~0u, x, 1));
    top[half] = max(x, __shfl_xor_sync(~0u, x, 2));
  }
  if (__any_sync(~0u, (top[0] | top[1]) < 0)) [[unlikely]] {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float x = before[half];
#pragma unroll
      for (int block = 0; block < keys / 8; ++block) x = fmaxf(x, fmaxf(s[4 * block + 2 * half], s[4 * block + 2 * half + 1]));
      top[half] = __float_as_int(quad_max(x));
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    part.m[half] = reference(before[half], __int_as_float(top[half]), scale);
    shift[half] = scaled_max(part.m[half], scale);
    alpha[half] = rescale(before[half], part.m[half], scale);
  }
}

// Scores become weights in place; the rows' sum moves on. Keys past `keys` weigh nothing.
template <int keys>
__device__ __forceinline__ void weigh_scores(float (&s)[keys / 2], RowState& part, float const (&alpha)[2],
                                             float const (&shift)[2], float scale) {
  float groups[2][tile_keys / 16] = {};
#pragma unroll
  for (int group = 0; group < keys / 16; ++group) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float* const w = &s[8 * group + 2 * half];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        w[i] = weight(w[i], scale, shift[half]);
        w[4 + i] = weight(w[4 + i], scale, shift[half]);
      }
      groups[half][group] = group_sum(w[0], w[1], w[4], w[5]);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float const* const g = groups[half];
    float const sum = tile_sum(g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]);
    part.l[half] = accumulate_sum(part.l[half], alpha[half], sum);
  }
}

template <int keys>
__device__ __forceinline__ void weigh(float (&s)[keys / 2], RowState& part, float (&alpha)[2], float scale) {
  float shift[2];
  advance_max<keys>(s, part, alpha, shift, scale);
  weigh_scores<keys>(s, part, alpha, shift, scale);
}

template <int keys>
__device__ __forceinline__ void pack(uint32_t (&w)[keys / 4], float const (&s)[keys / 2]) {
#pragma unroll
  for (int i = 0; i < keys / 4; ++i) w[i] = pack_weights(s[2 * i], s[2 * i + 1]);
}

template <int count>
__device__ __forceinline__ void rescale_rows(float (&o)[count], float const (&alpha)[2]) {
#pragma unroll
  for (int i = 0; i < count; ++i) o[i] = rescale_output(o[i], alpha[i / 2 % 2]);
}

} // namespace tik::attention::sm90
