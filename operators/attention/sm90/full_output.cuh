// What happens to the output of the full-sequence kernel: a finished part is folded into the total, a finished item is written.
#pragma once

#include "operators/attention/sm90/full_shared.cuh"
#include "operators/attention/sm90/full_softmax.cuh"
#include "operators/attention/sm90/full_work.cuh"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::attention::sm90 {

// Folds reference and sum of a finished part into those of the total. factors: what the outputs of both are multiplied with.
__device__ __forceinline__ void fold_state(RowState const& part, RowState& total, FoldFactors (&factors)[2], bool first_part,
                                           float scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float const l = quad_part_sum(part.l[half]);
    if (first_part) {
      total.m[half] = part.m[half];
      total.l[half] = l;
    } else {
      factors[half] = fold_factors(total.m[half], part.m[half], scale);
      total.m[half] = fold_max(total.m[half], part.m[half]);
      total.l[half] = fold(total.l[half], l, factors[half]);
    }
  }
}

// Folds the output of a finished part into that of the total. `store` is where that lies between parts; the last fold of an
// item leaves it in `o` instead.
template <int head_dim, bool last>
__device__ __forceinline__ void fold_output(float (&o)[head_dim / 2], FoldFactors const (&factors)[2],
                                            float4 (&store)[head_dim / 8][group_threads], bool first_part) {
  int const thread = threadIdx.x % group_threads;
  if (first_part) {
    if constexpr (!last) {
#pragma unroll
      for (int block = 0; block < head_dim / 8; ++block) {
        store[block][thread] = make_float4(o[4 * block], o[4 * block + 1], o[4 * block + 2], o[4 * block + 3]);
      }
    }
    return;
  }
#pragma unroll
  for (int block = 0; block < head_dim / 8; ++block) {
    float* const sum = &o[4 * block];
    float4 const before = store[block][thread];
    sum[0] = fold(before.x, sum[0], factors[0]);
    sum[1] = fold(before.y, sum[1], factors[0]);
    sum[2] = fold(before.z, sum[2], factors[1]);
    sum[3] = fold(before.w, sum[3], factors[1]);
    if (!last) store[block][thread] = make_float4(sum[0], sum[1], sum[2], sum[3]);
  }
}

template <int head_dim, bool last>
__device__ __forceinline__ void fold_part(float (&o)[head_dim / 2], RowState const& part, RowState& total,
                                          float4 (&store)[head_dim / 8][group_threads], bool first_part, float scale) {
  FoldFactors factors[2];
  fold_state(part, total, factors, first_part, scale);
  fold_output<head_dim, last>(o, factors, store, first_part);
}

// Writes the rows of the item that belong to the call. The four lanes of a row exchange their columns so that each stores 16
// bytes at a time: of four blocks of 8 columns, lane t ends with block t.
template <int head_dim>
__device__ __forceinline__ void write_rows(float const (&o)[head_dim / 2], RowState const& total, WorkItem const& item,
                                           FullParameters const& parameters, int first_position) {
  int const lane_in_quad = threadIdx.x % 4;
  tik_attention_args const& args = parameters.args;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int const position = first_position + 8 * half;
    bool const present = position >= item.first_position && position < item.length;
    int64_t const row = item.first_row + position;
    tik_bf16* const out = args.out + row * args.out_token_stride + item.query_head * args.out_head_stride;
    float const reciprocal_l = reciprocal(total.l[half]);
#pragma unroll
    for (int blocks = 0; blocks < head_dim / 8; blocks += 4) {
      uint32_t mine[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float const* const pair = &o[4 * (blocks + i) + 2 * half];
        mine[i] = pack_weights(finish(pair[0], reciprocal_l), finish(pair[1], reciprocal_l));
      }
      // Transpose 4 x 4 over the quad: first pairs of lanes, then pairs of pairs.
      bool const odd = lane_in_quad & 1;
      bool const upper = lane_in_quad & 2;
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        uint32_t const other = __shfl_xor_sync(~0u, odd ? mine[i] : mine[i + 1], 1);
        (odd ? mine[i] : mine[i + 1]) = other;
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        uint32_t const other = __shfl_xor_sync(~0u, upper ? mine[i] : mine[i + 2], 2);
        (upper ? mine[i] : mine[i + 2]) = other;
      }
      if (present) {
        *reinterpret_cast<uint4*>(out + 8 * (blocks + lane_in_quad)) = make_uint4(mine[0], mine[1], mine[2], mine[3]);
      }
    }
    if (present && args.lse != nullptr && lane_in_quad == 0) {
      args.lse[row * args.shape.query_heads + item.query_head] =
          log_sum_exp(total.m[half], total.l[half], parameters.scale_log2);
    }
  }
}

} // namespace tik::attention::sm90
