// The consumers' half of the full-sequence kernel: a warp group that computes 64 query rows of each item.
//
// A lane holds rows `quad` and `quad + 8` of its warp's 16 and, of each 8 columns, numbers 2 * lane_in_quad + {0, 1}: element
// 4 * block + 2 * half + i of an accumulator is column 8 * block + 2 * lane_in_quad + i of row quad + 8 * half.
//
// The scores of the next tile are multiplied while the weights of this one are, and its softmax runs while the product with V
// does. The two groups take turns at issuing their products, so that the softmax of one runs under the products of the other.
#pragma once

#include "operators/attention/sm90/full_ptx.cuh"
#include "operators/attention/sm90/full_shared.cuh"
#include "operators/attention/sm90/full_work.cuh"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::attention::sm90 {

// Maximum and sum of the two rows of a lane.
struct RowState {
  float m[2];
  float l[2]; // within a part the lane's class of the sum, in total the whole sum
};

enum NamedBarrier : uint32_t { first_group_turn = 1 }; // + group

__device__ __forceinline__ void wait_for_turn(int group) {
  ptx::named_barrier_sync(first_group_turn + group, consumer_groups * group_threads);
}
__device__ __forceinline__ void pass_turn(int group) {
  ptx::named_barrier_arrive(first_group_turn + 1 - group, consumer_groups * group_threads);
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

// (l0 + l1) + (l2 + l3) over the four lanes of a row; addition commutes, so every lane gets the same bits.
__device__ __forceinline__ float quad_part_sum(float l) {
  float const pair = __fadd_rn(l, __shfl_xor_sync(~0u, l, 1));
  return __fadd_rn(pair, __shfl_xor_sync(~0u, pair, 2));
}

// s = q x k, one chain over head_dim from +0.
template <int head_dim, int columns>
__device__ __forceinline__ void multiply_scores(float (&s)[columns / 2], uint64_t queries, uint64_t keys) {
#pragma unroll
  for (int column = 0; column < head_dim; column += 16) {
    uint32_t const within = column % 64 * sizeof(Bf16);
    uint32_t const block = column / 64;
    ptx::multiply_shared(s, ptx::advance(queries, block * block_rows * 128 + within),
                         ptx::advance(keys, block * tile_keys * 128 + within), column != 0);
  }
}

// o = (accumulate ? o : 0) + w x v, one chain over the tile's keys.
template <int head_dim>
__device__ __forceinline__ void multiply_values(float (&o)[head_dim / 2], uint32_t const (&w)[tile_keys / 4], uint64_t values,
                                                bool accumulate) {
#pragma unroll
  for (int step = 0; step < tile_keys / 16; ++step) {
    ptx::multiply_registers(o, &w[4 * step], ptx::advance(values, step * 16 * 128), step != 0 || accumulate);
  }
}

// -infinity where the row does not see the key. Row and keys count from the start of the block, which is the tile's.
__device__ __forceinline__ void mask_scores(float (&s)[tile_keys / 2], int row, int lane_in_quad) {
#pragma unroll
  for (int i = 0; i < tile_keys / 2; ++i) {
    int const key = i / 4 * 8 + 2 * lane_in_quad + i % 2;
    if (key > row + i / 2 % 2 * 8) s[i] = -INFINITY;
  }
}

// Scores become weights in place; the rows' maximum and sum move on. alpha is what the part's output is to be multiplied with.
__device__ __forceinline__ void weigh(float (&s)[tile_keys / 2], RowState& part, float (&alpha)[2], bool first_of_part,
                                      float scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float const old_m = first_of_part ? -INFINITY : part.m[half];
    float m = old_m;
#pragma unroll
    for (int block = 0; block < tile_keys / 8; ++block) {
      m = fmaxf(m, fmaxf(s[4 * block + 2 * half], s[4 * block + 2 * half + 1]));
    }
    m = quad_max(m);
    float const shift = scaled_max(m, scale);
    alpha[half] = rescale(old_m, m, scale);
    part.m[half] = m;
    float groups[tile_keys / 16];
#pragma unroll
    for (int group = 0; group < tile_keys / 16; ++group) {
      float* const w = &s[8 * group + 2 * half];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        w[i] = weight(w[i], scale, shift);
        w[4 + i] = weight(w[4 + i], scale, shift);
      }
      groups[group] = group_sum(w[0], w[1], w[4], w[5]);
    }
    float const sum = tile_sum(groups[0], groups[1], groups[2], groups[3], groups[4], groups[5], groups[6], groups[7]);
    part.l[half] = first_of_part ? sum : accumulate_sum(part.l[half], alpha[half], sum);
  }
}

__device__ __forceinline__ void pack(uint32_t (&w)[tile_keys / 4], float const (&s)[tile_keys / 2]) {
#pragma unroll
  for (int i = 0; i < tile_keys / 4; ++i) w[i] = pack_weights(s[2 * i], s[2 * i + 1]);
}

template <int count>
__device__ __forceinline__ void rescale_rows(float (&o)[count], float const (&alpha)[2]) {
#pragma unroll
  for (int i = 0; i < count; ++i) o[i] = rescale_output(o[i], alpha[i / 2 % 2]);
}

// Folds the finished part into the total. `store` is where the total's output lies between parts; the last fold of an item
// leaves it in `o` instead.
template <int head_dim, bool last>
__device__ __forceinline__ void fold_part(float (&o)[head_dim / 2], RowState const& part, RowState& total,
                                          float4 (&store)[head_dim / 8][group_threads], bool first_part, float scale) {
  int const thread = threadIdx.x % group_threads;
  FoldFactors factors[2];
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
  if (first_part) {
    if (last) return;
#pragma unroll
    for (int block = 0; block < head_dim / 8; ++block) {
      store[block][thread] = make_float4(o[4 * block], o[4 * block + 1], o[4 * block + 2], o[4 * block + 3]);
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

// Writes the rows of the item that belong to the call. The four lanes of a row exchange their columns so that each stores 16
// bytes at a time: of four blocks of 8 columns, lane t ends with block t.
template <int head_dim>
__device__ __forceinline__ void write_rows(float const (&o)[head_dim / 2], RowState const& total, WorkItem const& item,
                                           FullParameters const& parameters, int first_position, int lane_in_quad) {
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

// The whole life of a consumer group.
template <int head_dim>
__device__ __forceinline__ void consume(FullShared<head_dim>& shared, FullParameters const& parameters, int group) {
  using Shared = FullShared<head_dim>;
  float const scale = parameters.scale_log2;
  int const thread = threadIdx.x % group_threads;
  int const lane_in_quad = thread % 4;
  int const row = group * group_rows + thread / 32 * 16 + thread % 32 / 4; // within the block; the lane's other row is row + 8
  bool const leader = thread % 32 == 0;
  auto const release = [&](uint64_t& barrier) {
    if (leader) ptx::arrive(barrier);
  };
  uint64_t const queries = ptx::matrix_descriptor(shared.queries + group * group_rows * 64, 0);
  uint64_t const keys = ptx::matrix_descriptor(shared.keys[0], 0);
  uint64_t const values = ptx::matrix_descriptor(shared.values[0], tile_keys * 128);
  constexpr uint32_t tile_bytes = tile_keys * head_dim * sizeof(Bf16);
  Pipe<Shared::stages> key_pipe;
  Pipe<Shared::stages> value_pipe;
  Pipe<1> query_pipe;
  if (group == 1) pass_turn(1); // the first turn is group 0's

  while (true) {
    ptx::wait(shared.queries_full, query_pipe.parity);
    query_pipe.advance();
    WorkItem const item = shared.item;
    if (item.sequence < 0) break;
    int const tiles = item.block + 1;
    float s[tile_keys / 2];
    uint32_t w[tile_keys / 4];
    float o[head_dim / 2];
    float alpha[2];
    RowState part;
    RowState total;

    ptx::wait(shared.keys_full[key_pipe.stage], key_pipe.parity);
    ptx::wgmma_fence();
    multiply_scores<head_dim, tile_keys>(s, queries, ptx::advance(keys, key_pipe.stage * tile_bytes));
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::pin(s);
    release(shared.keys_empty[key_pipe.stage]);
    key_pipe.advance();
    if (tiles == 1) {
      release(shared.queries_empty);
      mask_scores(s, row, lane_in_quad);
    }
    weigh(s, part, alpha, true, scale);
    pack(w, s);

    bool fresh_output = true;
    if (tiles > 1) ptx::wait(shared.keys_full[key_pipe.stage], key_pipe.parity);
    for (int tile = 1; tile < tiles; ++tile) {
      bool const first_of_part = tile % tiles_per_part == 0;
      wait_for_turn(group);
      ptx::pin(o);
      ptx::wgmma_fence();
      multiply_scores<head_dim, tile_keys>(s, queries, ptx::advance(keys, key_pipe.stage * tile_bytes));
      ptx::wgmma_commit();
      ptx::wait(shared.values_full[value_pipe.stage], value_pipe.parity);
      ptx::wgmma_fence();
      multiply_values<head_dim>(o, w, ptx::advance(values, value_pipe.stage * tile_bytes), !fresh_output);
      ptx::wgmma_commit();
      pass_turn(group);
      ptx::wgmma_wait<1>();
      ptx::pin(s);
      release(shared.keys_empty[key_pipe.stage]);
      key_pipe.advance();
      if (tile == tiles - 1) {
        release(shared.queries_empty);
        mask_scores(s, row, lane_in_quad);
      }
      RowState const finished = part;
      weigh(s, part, alpha, first_of_part, scale);
      ptx::pin(s);
      ptx::pin(alpha);
      ptx::pin(part.l);
      if (tile + 1 < tiles) ptx::wait(shared.keys_full[key_pipe.stage], key_pipe.parity);
      ptx::wgmma_wait<0>();
      ptx::pin(o);
      release(shared.values_empty[value_pipe.stage]);
      value_pipe.advance();
      if (first_of_part) {
        fold_part<head_dim, false>(o, finished, total, shared.total[group], tile == tiles_per_part, scale);
      } else {
        rescale_rows(o, alpha);
      }
      pack(w, s);
      fresh_output = first_of_part;
    }

    ptx::wait(shared.values_full[value_pipe.stage], value_pipe.parity);
    ptx::pin(o);
    ptx::wgmma_fence();
    multiply_values<head_dim>(o, w, ptx::advance(values, value_pipe.stage * tile_bytes), !fresh_output);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::pin(o);
    release(shared.values_empty[value_pipe.stage]);
    value_pipe.advance();
    fold_part<head_dim, true>(o, part, total, shared.total[group], tiles <= tiles_per_part, scale);
    write_rows<head_dim>(o, total, item, parameters, item.block * block_rows + row, lane_in_quad);
  }
  if (group == 0) wait_for_turn(0); // takes the turn that was left over
}

} // namespace tik::attention::sm90
