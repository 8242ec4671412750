// What the kernels of the fused step share.
#pragma once

#include "operators/kv_write/sm90/cache.cuh"
#include "operators/rms_norm/sm90/forward_chunk.cuh"
#include "operators/rms_norm/sm90/inverse_rms.cuh"
#include "operators/rotary/sm90/rotate.cuh"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {

struct FusedParams {
  SourceRows queries, keys, values;
  TargetRows queries_out;
  tik_bf16 const* query_weight; // both NULL: no norm
  tik_bf16 const* key_weight;
  CacheParams cache;
  float const* table;
  int table_positions;
  int query_heads, kv_heads;
  int tokens;
  int head_groups;       // groups of heads of a token, of which a thread has one
  Divisor items_a_token; // an item is eight pairs of the heads of a group
  float inverse_columns;
  float epsilon;
};

// The chunks of eight pairs of columns.
struct Pairs {
  uint4 first, second;
};

__device__ __forceinline__ Pairs load_pairs(tik_bf16 const* at, int half) { return {load_chunk(at), load_chunk(at + half)}; }

__device__ __forceinline__ void store_pairs(tik_bf16* at, int half, Pairs const& pairs) {
  store_chunk(at, pairs.first);
  store_chunk(at + half, pairs.second);
}

__device__ __forceinline__ float squares(Pairs const& x) { return add(squares(x.first), squares(x.second)); }

__device__ __forceinline__ Pairs normalize(Pairs const& x, Pairs const& weight, float inverse_rms) {
  return {normalize(x.first, weight.first, inverse_rms), normalize(x.second, weight.second, inverse_rms)};
}

__device__ __forceinline__ Pairs rotate(Pairs const& x, Turn const& turn) {
  return {rotate_first(x.first, x.second, turn), rotate_second(x.second, x.first, turn)};
}

// Whose a head is, and its number there: queries come first, then keys, then values.
struct Head {
  bool is_query, is_value;
  int number;
};
__device__ __forceinline__ Head head_at(FusedParams const& params, int position) {
  bool const is_query = position < params.query_heads;
  bool const is_value = position >= params.query_heads + params.kv_heads;
  return {is_query, is_value, position - (is_query ? 0 : params.query_heads) - (is_value ? params.kv_heads : 0)};
}

// The line of the table for a position; NULL where there is none.
__device__ __forceinline__ float const* table_line(FusedParams const& params, int head_dim, int position) {
  bool const in_table = position >= 0 && position < params.table_positions;
  return in_table ? params.table + int64_t{position} * head_dim : nullptr;
}

} // namespace tik::operators::sm90
