// The root of a search for Hopper: the canonical program of numerics.cuh, read off line by line, for both entry points. It
// holds no trick: loads come straight from global memory, nothing is staged, nothing overlaps.
//
// One warp computes 16 query rows: the positions 16n .. 16n + 15 of one sequence under one query head. Such a group never
// straddles a tile, so all its rows execute the same tiles and no row meets a tile without a key that it sees. Rows that are
// not part of the call (before the chunk, past the end) are computed on zeros and not written.
#pragma once

#include <cmath>

#include "numerics.cuh"
#include "operators/attention/contract.h"

namespace attention {
namespace {

constexpr int group_rows = 16; // rows of mma.sync.m16n8k16
constexpr int warp_lanes = 32;
constexpr int warps_per_block = 4;
constexpr int score_blocks = tile_keys / 8;   // 8 keys each
constexpr int weight_groups = tile_keys / 16; // k16 steps of the product with V
static_assert(tile_keys == 128, "tile_sum() adds eight groups of 16 keys");
static_assert(tile_keys % group_rows == 0);

// A lane of mma.sync.m16n8k16 holds rows `quad` and `quad + 8` and, of each 8 columns, numbers 2 * lane_in_quad + {0, 1}.
struct Lane {
  int quad;         // 0..7
  int lane_in_quad; // 0..3, the class of the row sum
};

// Where the sequence of this warp lies and which rows it computes.
struct Group {
  int sequence;
  int first_row;      // row of the sequence's first query token among the packed query rows
  int first_position; // position of the sequence's first query token
  int length;         // keys of the sequence
  int position;       // position of the group's row 0, a multiple of 16
  int query_head;
  int kv_head;

  __device__ bool in_call(int position_of_row) const { return position_of_row >= first_position && position_of_row < length; }
  __device__ int64_t row(int position_of_row) const { return first_row + (position_of_row - first_position); }
};

// The state of the two rows of a lane, within a part or in total: reference, sum, output [head_dim / 8][row, column].
template <int head_dim>
struct Rows {
  float m[2];
  float l[2]; // within a part: the sum of the lane's class; in total: the whole sum
  float o[head_dim / 8][4];
};

// d += a x b: a [16, 16] row major, b [16, 8] column major, bf16 in, fp32 accumulator.
__device__ void mma(float (&d)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ uint32_t load_pair(tik_bf16 const* address) { return *reinterpret_cast<uint32_t const*>(address); }

__device__ uint32_t join(tik_bf16 low, tik_bf16 high) { return static_cast<uint32_t>(high) << 16 | low; }

// Element offset of key and value `token` of the group's sequence and head.
__device__ int64_t kv_offset(tik_kv_view const& kv, Group const& group, int token) {
  int64_t const head = group.kv_head * kv.head_stride;
  if (kv.layout == TIK_KV_PACKED) return head + (int64_t{group.first_row} + token) * kv.token_stride;
  if (kv.layout == TIK_KV_CONTIGUOUS) return head + group.sequence * kv.sequence_stride + token * kv.token_stride;
  int const page = kv.page_table[int64_t{group.sequence} * kv.page_table_stride + token / kv.page_size];
  return head + page * kv.page_stride + (token % kv.page_size) * kv.token_stride;
}

// The queries of the group as the A operand of each k16 step.
template <int head_dim>
__device__ void load_queries(uint32_t (&q)[head_dim / 16][4], tik_attention_args const& args, Group const& group, Lane lane) {
  for (int half = 0; half < 2; ++half) {
    int const position = group.position + lane.quad + 8 * half;
    bool const present = group.in_call(position);
    tik_bf16 const* const row = args.queries + (present ? group.row(position) : group.first_row) * args.query_token_stride +
                                group.query_head * args.query_head_stride;
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
      int const column = 16 * step + 2 * lane.lane_in_quad;
      q[step][half] = present ? load_pair(row + column) : 0;
      q[step][half + 2] = present ? load_pair(row + column + 8) : 0;
    }
  }
}

// s[j] = chain of k16 steps over head_dim from +0, -infinity where the row does not see key j.
template <int head_dim>
__device__ void compute_scores(float (&s)[score_blocks][4], uint32_t const (&q)[head_dim / 16][4],
                               tik_attention_args const& args, Group const& group, Lane lane, int tile_start) {
#pragma unroll
  for (int block = 0; block < score_blocks; ++block) {
    int const key = tile_start + 8 * block + lane.quad;
    bool const present = key < group.length; // what lies past the end may be anything, NaN included
    tik_bf16 const* const row = args.kv.keys + kv_offset(args.kv, group, present ? key : 0);
    float* const scores = s[block];
    for (int i = 0; i < 4; ++i) scores[i] = 0;
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
      int const column = 16 * step + 2 * lane.lane_in_quad;
      mma(s[block], q[step], present ? load_pair(row + column) : 0, present ? load_pair(row + column + 8) : 0);
    }
    for (int i = 0; i < 4; ++i) {
      int const column_key = tile_start + 8 * block + 2 * lane.lane_in_quad + i % 2;
      int const row_position = group.position + lane.quad + 8 * (i / 2);
      if (column_key > row_position) scores[i] = -INFINITY;
    }
  }
}

// The largest score of row `half` over the tile: over the lane's own columns, then over the four lanes that share the row.
__device__ float row_max(float const (&s)[score_blocks][4], int half) {
  float m = -INFINITY;
#pragma unroll
  for (int block = 0; block < score_blocks; ++block) m = fmaxf(m, fmaxf(s[block][2 * half], s[block][2 * half + 1]));
  m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
  return fmaxf(m, __shfl_xor_sync(~0u, m, 2));
}

// Scores become weights, in place; returns the lane's class of the tile's row sum.
__device__ float weigh(float (&s)[score_blocks][4], int half, float m, float scale) {
  float const shift = scaled_max(m, scale);
  float groups[weight_groups];
#pragma unroll
  for (int group = 0; group < weight_groups; ++group) {
    float* const low = &s[2 * group][2 * half];
    float* const high = &s[2 * group + 1][2 * half];
    for (int i = 0; i < 2; ++i) {
      low[i] = weight(low[i], scale, shift);
      high[i] = weight(high[i], scale, shift);
    }
    groups[group] = group_sum(low[0], low[1], high[0], high[1]);
  }
  return tile_sum(groups[0], groups[1], groups[2], groups[3], groups[4], groups[5], groups[6], groups[7]);
}

// o += bf16(w) x v, one chain over the eight k16 steps of the tile, for each column block of head_dim.
template <int head_dim>
__device__ void accumulate_output(float (&o)[head_dim / 8][4], float const (&w)[score_blocks][4],
                                  tik_attention_args const& args, Group const& group, Lane lane, int tile_start) {
#pragma unroll
  for (int step = 0; step < weight_groups; ++step) {
    auto const& low = w[2 * step];
    auto const& high = w[2 * step + 1];
    uint32_t const weights[4] = {pack_weights(low[0], low[1]), pack_weights(low[2], low[3]), pack_weights(high[0], high[1]),
                                 pack_weights(high[2], high[3])};
    tik_bf16 const* rows[4];
    bool present[4];
    for (int i = 0; i < 4; ++i) {
      int const key = tile_start + 16 * step + 2 * lane.lane_in_quad + i % 2 + 8 * (i / 2);
      present[i] = key < group.length; // a weight of 0 times NaN would be NaN
      rows[i] = args.kv.values + kv_offset(args.kv, group, present[i] ? key : 0) + lane.quad;
    }
#pragma unroll
    for (int block = 0; block < head_dim / 8; ++block) {
      tik_bf16 v[4];
      for (int i = 0; i < 4; ++i) v[i] = present[i] ? rows[i][8 * block] : tik_bf16{0};
      mma(o[block], weights, join(v[0], v[1]), join(v[2], v[3]));
    }
  }
}

// Executes one tile of a part.
template <int head_dim>
__device__ void run_tile(Rows<head_dim>& part, bool first_of_part, uint32_t const (&q)[head_dim / 16][4],
                         tik_attention_args const& args, float scale, Group const& group, Lane lane, int tile_start) {
  float s[score_blocks][4];
  compute_scores<head_dim>(s, q, args, group, lane, tile_start);
  for (int half = 0; half < 2; ++half) {
    float const m = first_of_part ? row_max(s, half) : reference(part.m[half], row_max(s, half), scale);
    float const sum = weigh(s, half, m, scale);
    float const alpha = first_of_part ? 0.0f : rescale(part.m[half], m, scale);
    part.l[half] = first_of_part ? sum : accumulate_sum(part.l[half], alpha, sum);
#pragma unroll
    for (int block = 0; block < head_dim / 8; ++block) {
      float* const o = &part.o[block][2 * half];
      for (int i = 0; i < 2; ++i) o[i] = first_of_part ? 0.0f : rescale_output(o[i], alpha);
    }
    part.m[half] = m;
  }
  accumulate_output<head_dim>(part.o, s, args, group, lane, tile_start);
}

// Adds the four classes of a part's sum and folds the part into the total.
template <int head_dim>
__device__ void fold_rows(Rows<head_dim>& total, Rows<head_dim>& part, bool first_part, float scale) {
  for (int half = 0; half < 2; ++half) {
    int const quad_lane = (threadIdx.x % warp_lanes) & ~3;
    float const l = part.l[half];
    float const sum = part_sum(__shfl_sync(~0u, l, quad_lane), __shfl_sync(~0u, l, quad_lane + 1),
                               __shfl_sync(~0u, l, quad_lane + 2), __shfl_sync(~0u, l, quad_lane + 3));
    FoldFactors const factors = first_part ? FoldFactors{} : fold_factors(total.m[half], part.m[half], scale);
    total.m[half] = first_part ? part.m[half] : fold_max(total.m[half], part.m[half]);
    total.l[half] = first_part ? sum : fold(total.l[half], sum, factors);
#pragma unroll
    for (int block = 0; block < head_dim / 8; ++block) {
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        total.o[block][i] = first_part ? part.o[block][i] : fold(total.o[block][i], part.o[block][i], factors);
      }
    }
  }
}

// Writes the rows that belong to the call. A row without keys, as in a padded batch, is zeros with lse -infinity.
template <int head_dim>
__device__ void write_rows(Rows<head_dim> const& total, tik_attention_args const& args, float scale, Group const& group,
                           Lane lane) {
  for (int half = 0; half < 2; ++half) {
    int const position = group.position + lane.quad + 8 * half;
    if (!group.in_call(position)) continue;
    int64_t const row = group.row(position);
    tik_bf16* const out = args.out + row * args.out_token_stride + group.query_head * args.out_head_stride;
    float const reciprocal_l = reciprocal(total.l[half]);
#pragma unroll
    for (int block = 0; block < head_dim / 8; ++block) {
      float const* const o = &total.o[block][2 * half];
      *reinterpret_cast<uint32_t*>(out + 8 * block + 2 * lane.lane_in_quad) =
          pack_weights(finish(o[0], reciprocal_l), finish(o[1], reciprocal_l));
    }
    if (args.lse != nullptr && lane.lane_in_quad == 0) {
      args.lse[row * args.shape.query_heads + group.query_head] = log_sum_exp(total.m[half], total.l[half], scale);
    }
  }
}

// A sequence that pads a captured batch: zeros with lse -infinity.
template <int head_dim>
__device__ void write_padding(tik_attention_args const& args, int row, int query_head) {
  int const lane = threadIdx.x % warp_lanes;
  tik_bf16* const out = args.out + row * args.out_token_stride + query_head * args.out_head_stride;
  for (int column = lane; column < head_dim; column += warp_lanes) out[column] = 0;
  if (args.lse != nullptr && lane == 0) args.lse[int64_t{row} * args.shape.query_heads + query_head] = -INFINITY;
}

// Grid: (blocks of 4 groups, query_heads, batch), from the limits alone; groups that the lengths leave empty return.
template <int head_dim>
__global__ void __launch_bounds__(warps_per_block* warp_lanes) attend_kernel(tik_attention_args const args, float const scale) {
  Lane const lane{static_cast<int>(threadIdx.x) % warp_lanes / 4, static_cast<int>(threadIdx.x) % 4};
  int const number = blockIdx.x * warps_per_block + threadIdx.x / warp_lanes;
  Group group;
  group.sequence = blockIdx.z;
  group.query_head = blockIdx.y;
  group.kv_head = group.query_head / (args.shape.query_heads / args.shape.kv_heads);
  bool const decode = args.query_offsets == nullptr;
  group.first_row = decode ? group.sequence : args.query_offsets[group.sequence];
  int const count = decode ? 1 : args.query_offsets[group.sequence + 1] - group.first_row;
  group.length = args.kv_lengths == nullptr ? count : args.kv_lengths[group.sequence];
  if (decode && group.length == 0) {
    if (number == 0) write_padding<head_dim>(args, group.first_row, group.query_head);
    return;
  }
  group.first_position = group.length - count;
  group.position = (group.first_position / group_rows + number) * group_rows;
  if (count == 0 || group.position >= group.length) return;

  uint32_t q[head_dim / 16][4];
  load_queries<head_dim>(q, args, group, lane);
  Rows<head_dim> total;
  int const end = min(group.position + group_rows, group.length);
  for (int part_start = 0; part_start < end; part_start += part_keys) {
    Rows<head_dim> part;
    for (int tile_start = part_start; tile_start < min(part_start + part_keys, end); tile_start += tile_keys) {
      run_tile<head_dim>(part, tile_start == part_start, q, args, scale, group, lane, tile_start);
    }
    fold_rows<head_dim>(total, part, part_start == 0, scale);
  }
  write_rows<head_dim>(total, args, scale, group, lane);
}

// A chunk of n positions touches at most (n + 14) / 16 + 1 groups of 16, wherever it starts.
dim3 attend_grid(tik_attention_args const& args) {
  int const groups = (args.limits.query_length + group_rows - 2) / group_rows + 1;
  return dim3((groups + warps_per_block - 1) / warps_per_block, args.shape.query_heads, args.batch);
}

cudaError_t launch_attend(tik_attention_args const& args) {
  int const threads = warps_per_block * warp_lanes;
  auto const stream = static_cast<cudaStream_t>(args.stream);
  float const scale = scale_log2(args.shape.softmax_scale);
  if (args.shape.head_dim == 64) {
    attend_kernel<64><<<attend_grid(args), threads, 0, stream>>>(args, scale);
  } else {
    attend_kernel<128><<<attend_grid(args), threads, 0, stream>>>(args, scale);
  }
  return cudaGetLastError();
}

} // namespace
} // namespace attention
