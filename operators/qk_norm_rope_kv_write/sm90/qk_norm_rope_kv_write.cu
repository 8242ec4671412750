// QK-norm, RoPE and the write into the cache in one kernel on Hopper: some lanes of a warp share a head, each with the chunks
// of eight pairs of columns. A thread has the same columns of several heads of a token, and reads their cosines and sines once.
#include "operators/functions.h"
#include "operators/kv_write/sm90/cache.cuh"
#include "operators/qk_norm_rope_kv_write/validate.h"
#include "operators/rms_norm/sm90/forward_chunk.cuh"
#include "operators/rms_norm/sm90/inverse_rms.cuh"
#include "operators/rotary/sm90/rotate.cuh"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/row_sum.cuh"

namespace tik::operators::sm90 {
namespace {

struct FusedParams {
  SourceRows queries, keys, values;
  TargetRows queries_out;
  tik_bf16 const* query_weight;
  tik_bf16 const* key_weight;
  CacheParams cache;
  float const* table;
  int table_positions;
  int query_heads, kv_heads;
  int tokens;
  int head_groups;       // a thread has heads group, group + head_groups, ... of query heads, key heads, value heads
  Divisor items_a_token; // an item is eight pairs of the heads of a group
  float inverse_columns;
  float epsilon;
};

constexpr int fused_threads = 128;

// The chunks of eight pairs.
struct Pairs {
  uint4 first, second;
};

__device__ __forceinline__ Pairs load_pairs(tik_bf16 const* row, int column, int half) {
  return {load_chunk(row + column), load_chunk(row + half + column)};
}

__device__ __forceinline__ void store_pairs(tik_bf16* row, int column, int half, Pairs const& pairs) {
  store_chunk(row + column, pairs.first);
  store_chunk(row + half + column, pairs.second);
}

// A head of the token: whose it is, and its number there.
struct Head {
  bool is_query, is_value;
  int number;
};
__device__ __forceinline__ Head head_at(FusedParams const& params, int position) {
  bool const is_query = position < params.query_heads;
  bool const is_value = position >= params.query_heads + params.kv_heads;
  return {is_query, is_value, position - (is_query ? 0 : params.query_heads) - (is_value ? params.kv_heads : 0)};
}

template <int HeadDim, int Heads>
__global__ void __launch_bounds__(fused_threads) qk_norm_rope_kv_write_kernel(FusedParams const params) {
  start_kernel_after();
  constexpr int half = HeadDim / 2;
  constexpr int lanes = half / chunk_columns; // that share a head
  int const item = blockIdx.x * fused_threads + threadIdx.x;
  int const token = params.items_a_token.quotient(item);
  int const within = item - token * static_cast<int>(params.items_a_token.divisor);
  int const column = within % lanes * chunk_columns;
  int const group = within / lanes;
  int const heads = params.query_heads + 2 * params.kv_heads;
  bool const with_norm = params.query_weight != nullptr;

  bool const present = token < params.tokens;
  int position = -1;
  int64_t offset = -1;
  Turn turn;
  auto const look_up = [&] {
    if (present) position = params.cache.positions[token];
    bool const in_table = position >= 0 && position < params.table_positions;
    load_turn(in_table ? params.table + int64_t{position} * HeadDim : nullptr, HeadDim, column, turn);
    bool const has_cached = group + (Heads - 1) * params.head_groups >= params.query_heads;
    if (present && has_cached) offset = cache_offset(params.cache, token);
  };
  if (params.cache.settled) look_up();
  wait_for_kernel_before();
  Pairs pairs[Heads], query_weight, key_weight;
#pragma unroll
  for (int i = 0; i < Heads; ++i) {
    int const at = group + i * params.head_groups;
    Head const head = head_at(params, at);
    if (!present || at >= heads) continue;
    SourceRows const& rows = head.is_query ? params.queries : head.is_value ? params.values : params.keys;
    pairs[i] = load_pairs(rows.row(token, head.number), column, half);
  }
  if (with_norm) {
    query_weight = load_pairs(params.query_weight, column, half);
    key_weight = load_pairs(params.key_weight, column, half);
  }
  if (!params.cache.settled) look_up(); // after the other loads: it waits for the position

  float inverse[Heads];
  if (with_norm) { // lanes without a head, and those of values, take part
    float totals[Heads];
#pragma unroll
    for (int i = 0; i < Heads; ++i) totals[i] = add(squares(pairs[i].first), squares(pairs[i].second));
    inverse_rms_of_rows<lanes>(totals, params.inverse_columns, params.epsilon, inverse);
  }
  if (position < 0) return;
#pragma unroll
  for (int i = 0; i < Heads; ++i) {
    int const at = group + i * params.head_groups;
    Head const head = head_at(params, at);
    if (at >= heads) continue;
    Pairs x = pairs[i];
    if (!head.is_value) {
      if (with_norm) {
        Pairs weight = key_weight; // a choice by value: one by reference puts both into memory
        if (head.is_query) weight = query_weight;
        x = {normalize(x.first, weight.first, inverse[i]), normalize(x.second, weight.second, inverse[i])};
      }
      x = {rotate_first(x.first, x.second, turn), rotate_second(x.second, x.first, turn)};
    }
    if (head.is_query) {
      store_pairs(params.queries_out.row(token, head.number), column, half, x);
    } else if (offset >= 0) {
      tik_bf16* const cache = head.is_value ? params.cache.values : params.cache.keys;
      store_pairs(cache + offset + head.number * params.cache.head_stride, column, half, x);
    }
  }
}

template <int HeadDim, int Heads>
cudaError_t launch_heads(tik_qk_norm_rope_kv_write_args const& args) {
  int const groups = (args.query_heads + 2 * args.kv_heads + Heads - 1) / Heads;
  int const items_a_token = groups * HeadDim / (2 * chunk_columns);
  FusedParams const params{places(args.queries),
                           places(args.keys),
                           places(args.values),
                           places(args.queries_out),
                           args.query_weight,
                           args.key_weight,
                           cache_params(args.target),
                           args.table,
                           args.table_positions,
                           args.query_heads,
                           args.kv_heads,
                           args.tokens,
                           groups,
                           Divisor(items_a_token),
                           rms_norm::inverse_columns(HeadDim),
                           args.epsilon};
  dim3 const grid((args.tokens * items_a_token + fused_threads - 1) / fused_threads);
  return launch_overlapped(qk_norm_rope_kv_write_kernel<HeadDim, Heads>, grid, fused_threads, args.stream, params);
}

template <int HeadDim>
cudaError_t launch(tik_qk_norm_rope_kv_write_args const& args) {
  constexpr int few = 64; // tokens; so few leave multiprocessors idle unless every head has threads of its own
  return args.tokens <= few ? launch_heads<HeadDim, 1>(args) : launch_heads<HeadDim, 4>(args);
}

} // namespace

tik_status qk_norm_rope_kv_write(tik_qk_norm_rope_kv_write_args const* args) {
  return run("launching tik_qk_norm_rope_kv_write", qk_norm_rope_kv_write::validate(args),
             [&] { return args->head_dim == 64 ? launch<64>(*args) : launch<128>(*args); });
}

} // namespace tik::operators::sm90
