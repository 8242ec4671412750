// The fused step of few tokens, and of any number of heads: a thread has columns of some heads of one token.
#pragma once

#include "operators/qk_norm_rope_kv_write/sm90/params.cuh"

namespace tik::operators::sm90 {

inline constexpr int few_tokens_threads = 128;

// A thread has heads group, group + head_groups, ... of query heads, key heads, value heads, and reads cosines and sines once.
template <int HeadDim, int Heads>
__global__ void __launch_bounds__(few_tokens_threads) few_tokens_kernel(FusedParams const params) {
  start_kernel_after();
  constexpr int half = HeadDim / 2;
  constexpr int lanes = half / chunk_columns; // that share a head
  int const item = blockIdx.x * few_tokens_threads + threadIdx.x;
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
    load_turn(table_line(params, HeadDim, position), HeadDim, column, turn);
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
    pairs[i] = load_pairs(rows.row(token, head.number) + column, half);
  }
  if (with_norm) {
    query_weight = load_pairs(params.query_weight + column, half);
    key_weight = load_pairs(params.key_weight + column, half);
  }
  if (!params.cache.settled) look_up(); // after the other loads: it waits for the position

  float inverse[Heads];
  if (with_norm) { // lanes without a head, and those of values, take part
    float totals[Heads];
#pragma unroll
    for (int i = 0; i < Heads; ++i) totals[i] = squares(pairs[i]);
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
        x = normalize(x, weight, inverse[i]);
      }
      x = rotate(x, turn);
    }
    if (head.is_query) {
      store_pairs(params.queries_out.row(token, head.number) + column, half, x);
    } else if (offset >= 0) {
      tik_bf16* const cache = head.is_value ? params.cache.values : params.cache.keys;
      store_pairs(cache + offset + head.number * params.cache.head_stride + column, half, x);
    }
  }
}

} // namespace tik::operators::sm90
