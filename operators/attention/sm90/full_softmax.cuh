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

// `x`, which the compiler takes to depend on `before`; zero is 0, which it does not know. Bits stay as they are.
__device__ __forceinline__ float paced(float x, float before, uint32_t zero) {
  return __uint_as_float(__float_as_uint(x) ^ (__float_as_uint(before) & zero));
}

// Scores of groups [begin, end) of 16 keys become weights in place; sums are those of each group.
//
// An exponential takes a warp 8 cycles, and all else of a weight less. Left alone, the compiler starts with the 64
// multiplications of a tile, which wait for nothing, and puts few exponentials between them. So a group waits for weights
// of the one before the last.
template <int begin, int end, int keys>
__device__ __forceinline__ void weigh_groups(float (&s)[keys / 2], float (&sums)[2][tile_keys / 16], float const (&shift)[2],
                                             float scale, uint32_t zero) {
  constexpr int lead = 2;
#pragma unroll
  for (int group = begin; group < end; ++group) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float* const w = &s[8 * group + 2 * half];
      float const x = group < lead ? shift[half] : paced(shift[half], w[5 - 8 * lead], zero);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        w[i] = weight(w[i], scale, x);
        w[4 + i] = weight(w[4 + i], scale, x);
      }
      sums[half][group] = group_sum(w[0], w[1], w[4], w[5]);
    }
  }
}

// The sum of a tile's weights in a lane, but for its last five additions, which another tile can hide.
struct TileSum {
  float first_half[2] = {};
  float third_quarter[2] = {};
  float group_6[2] = {};
  float group_7[2][2] = {};

  TileSum() = default;

  // Of weights in s and the sums of their groups. Keys that the tile does not have weigh nothing.
  template <int count>
  __device__ __forceinline__ TileSum(float const (&s)[count], float const (&sums)[2][tile_keys / 16]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      first_half[half] = half_sum(sums[half][0], sums[half][1], sums[half][2], sums[half][3]);
      if constexpr (count == tile_keys / 2) {
        float const* const w = &s[8 * 7 + 2 * half];
        third_quarter[half] = pair_sum(sums[half][4], sums[half][5]);
        group_6[half] = sums[half][6];
        group_7[half][0] = pair_sum(w[0], w[1]);
        group_7[half][1] = pair_sum(w[4], w[5]);
      } else {
        static_assert(count == tile_keys / 4);
      }
    }
  }

  __device__ __forceinline__ void add_to(RowState& part, float const (&alpha)[2]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float const last_quarter = pair_sum(group_6[half], pair_sum(group_7[half][0], group_7[half][1]));
      float const sum = tile_sum(first_half[half], pair_sum(third_quarter[half], last_quarter));
      part.l[half] = accumulate_sum(part.l[half], alpha[half], sum);
    }
  }
};

// Scores become weights in place; the rows' sum moves on.
template <int keys>
__device__ __forceinline__ void weigh_scores(float (&s)[keys / 2], RowState& part, float const (&alpha)[2],
                                             float const (&shift)[2], float scale, uint32_t zero) {
  float sums[2][tile_keys / 16];
  weigh_groups<0, keys / 16, keys>(s, sums, shift, scale, zero);
  TileSum(s, sums).add_to(part, alpha);
}

template <int keys>
__device__ __forceinline__ void weigh(float (&s)[keys / 2], RowState& part, float (&alpha)[2], float scale, uint32_t zero) {
  float shift[2];
  advance_max<keys>(s, part, alpha, shift, scale);
  weigh_scores<keys>(s, part, alpha, shift, scale, zero);
}

// What the weights of a row are relative to while its reference stays, and a score up to which it certainly does. A limit
// below 0 means that it is not known to.
struct Settled {
  float shift[2];
  float limit[2];

  // How far above its reference a score may be without moving it, less a little for rounding.
  static __device__ __forceinline__ float reach(float scale) { return fminf((largest_lag - 0.25f) / scale, 1e30f); }

  __device__ __forceinline__ void follow(RowState const& part, float scale, float reach) {
    constexpr float largest_shift = 1 << 20; // beyond which rounding may be more than that little
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      shift[half] = scaled_max(part.m[half], scale);
      limit[half] = fabsf(shift[half]) < largest_shift ? part.m[half] + reach : -1.0f;
    }
  }
};

// Whether the references of all rows of a warp certainly stay: no lane has a score beyond the limit of its row, so nothing
// needs to be exchanged. Scores below 0 count as 0: a limit is below 0 only where the answer must be no.
__device__ __forceinline__ bool stays(float const (&s)[tile_keys / 2], float const (&limit)[2]) {
  float top[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int even = 0;
    int odd = 0;
#pragma unroll
    for (int block = 0; block < tile_keys / 8; block += 2) {
      even = __vimax3_s32(even, __float_as_int(s[4 * block + 2 * half]), __float_as_int(s[4 * block + 2 * half + 1]));
      odd = __vimax3_s32(odd, __float_as_int(s[4 * block + 4 + 2 * half]), __float_as_int(s[4 * block + 4 + 2 * half + 1]));
    }
    top[half] = __int_as_float(max(even, odd));
  }
  return !__any_sync(~0u, top[0] > limit[0] || top[1] > limit[1]);
}

template <int keys>
__device__ __forceinline__ void pack(uint32_t (&w)[keys / 4], float const (&s)[keys / 2]) {
#pragma unroll
  for (int i = 0; i < keys / 4; ++i) w[i] = pack_weights(s[2 * i], s[2 * i + 1]);
}

__device__ __forceinline__ bool moves(float const (&alpha)[2]) { return __any_sync(~0u, alpha[0] != 1.0f || alpha[1] != 1.0f); }

template <int count>
__device__ __forceinline__ void rescale_rows(float (&o)[count], float const (&alpha)[2]) {
#pragma unroll
  for (int i = 0; i < count; ++i) o[i] = rescale_output(o[i], alpha[i / 2 % 2]);
}

} // namespace tik::attention::sm90
