// The fused step of many tokens: a thread keeps its columns and its heads, all of queries, of keys or of values, over several
// tokens. What follows from the head is then found out once, and rows of the next tokens are on their way while those of one
// are computed.
#pragma once

#include "operators/qk_norm_rope_kv_write/sm90/many_tokens.h"
#include "operators/qk_norm_rope_kv_write/sm90/params.cuh"
#include "operators/sm90/copy_ahead.cuh"

namespace tik::operators::sm90 {

inline constexpr int many_tokens_heads = 2;      // of a thread: they divide the heads of queries and of keys
inline constexpr int many_tokens_stages = 2;     // rows that a thread has on their way or before it
inline constexpr int many_tokens_registers = 80; // with 64 some spill, with more too few threads are resident
inline constexpr int many_tokens_staged = many_tokens_stages * 2 * many_tokens_heads * 16; // bytes a thread

// Which tokens a block has: slot s of its `slots` takes first + s, then `step` tokens further, `turns` in all.
struct TokenTurns {
  int slots;
  int first_step; // from the first token of a block to that of the next
  int step;
  int turns;
};

// A block has slots * items_a_token threads, and some more for whole warps. Its dynamic shared memory holds many_tokens_staged
// bytes a thread, which no other thread reads.
template <int HeadDim, bool WithNorm>
__global__ void __maxnreg__(many_tokens_registers) many_tokens_kernel(FusedParams const params, TokenTurns const turns) {
  start_kernel_after();
  constexpr int heads = many_tokens_heads;
  constexpr int half = HeadDim / 2;
  constexpr int lanes = half / chunk_columns; // that share a head
  int const slot = params.items_a_token.quotient(threadIdx.x);
  int const within = threadIdx.x - slot * static_cast<int>(params.items_a_token.divisor);
  int const column = within % lanes * chunk_columns;
  Head const head = head_at(params, within / lanes * heads);
  int const first = static_cast<int>(blockIdx.x) * turns.first_step + slot;
  int const behind = first + turns.turns * turns.step; // rows that another block has are not asked for
  int const end = slot >= turns.slots ? 0 : behind < params.tokens ? behind : params.tokens;
  auto const stage = [&](int turn, int chunk) {
    return staged_chunks() + (turn % many_tokens_stages * 2 * heads + chunk) * static_cast<int>(blockDim.x) + threadIdx.x;
  };

  SourceRows const rows = head.is_query ? params.queries : head.is_value ? params.values : params.keys;
  tik_bf16 const* source = rows.row(first, head.number) + column; // of the next token to be asked for
  int64_t const source_step = turns.step * rows.token_stride;
  auto const ask = [&](int turn) {
    if (first + turn * turns.step < end) {
#pragma unroll
      for (int i = 0; i < heads; ++i) {
        copy_ahead(stage(turn, 2 * i), source + i * rows.head_stride);
        copy_ahead(stage(turn, 2 * i + 1), source + i * rows.head_stride + half);
      }
    }
    source += source_step;
    close_copies(); // also where there are none, so that every turn has its group
  };

  wait_for_kernel_before();
#pragma unroll
  for (int turn = 0; turn < many_tokens_stages - 1; ++turn) ask(turn);
  Pairs weight;
  if constexpr (WithNorm) weight = load_pairs((head.is_query ? params.query_weight : params.key_weight) + column, half);
  int position = first < end ? params.cache.positions[first] : -1;
  for (int turn = 0; turn < turns.turns; ++turn) {
    int const token = first + turn * turns.step;
    Turn line;
    int64_t offset = position;
    if (!head.is_value) load_turn(table_line(params, HeadDim, position), HeadDim, column, line);
    if (!head.is_query && position >= 0) offset = cache_offset(params.cache, sequence_of(params.cache, token), position);
    position = token + turns.step < end ? params.cache.positions[token + turns.step] : -1;
    ask(turn + many_tokens_stages - 1);
    wait_for_copies<many_tokens_stages - 1>();
    Pairs pairs[heads];
#pragma unroll
    for (int i = 0; i < heads; ++i) pairs[i] = {*stage(turn, 2 * i), *stage(turn, 2 * i + 1)};
    float inverse[heads];
    if constexpr (WithNorm) { // lanes without a token, and those of values, take part
#pragma unroll
      for (int i = 0; i < heads; ++i) inverse[i] = squares(pairs[i]);
      inverse_rms_of_rows<lanes>(inverse, params.inverse_columns, params.epsilon, inverse);
    }
    if (offset < 0) continue;
    tik_bf16* const cached =
        (head.is_value ? params.cache.values : params.cache.keys) + offset + head.number * params.cache.head_stride;
    tik_bf16* const target = (head.is_query ? params.queries_out.row(token, head.number) : cached) + column;
    int64_t const head_stride = head.is_query ? params.queries_out.head_stride : params.cache.head_stride;
#pragma unroll
    for (int i = 0; i < heads; ++i) {
      Pairs x = pairs[i];
      if (!head.is_value) {
        if constexpr (WithNorm) x = normalize(x, weight, inverse[i]);
        x = rotate(x, line);
      }
      store_pairs(target + i * head_stride, half, x);
    }
  }
}

} // namespace tik::operators::sm90
