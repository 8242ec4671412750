// RoPE on Hopper: a thread takes eight pairs of columns of some heads of a token, and reads their cosines and sines once.
#include "operators/functions.h"
#include "operators/rotary/sm90/rotate.cuh"
#include "operators/rotary/table.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {
namespace {

struct RotaryParams {
  SourceRows queries, keys;
  TargetRows queries_out, keys_out;
  int query_heads, heads; // heads: query heads, then key heads
  int head_dim;
  bool inverse;
  bool settled;
  int table_positions;
  float const* table;
  int32_t const* positions;
  int head_groups;       // a thread has heads group, group + head_groups, ...
  Divisor items_a_token; // an item is eight pairs of the heads of a group
  int items;
};

constexpr int rotary_threads = 128;

// `Heads` heads a thread.
template <int Heads>
__global__ void __launch_bounds__(rotary_threads) rotary_kernel(RotaryParams const params) {
  start_kernel_after();
  int const item = blockIdx.x * rotary_threads + threadIdx.x;
  int const token = params.items_a_token.quotient(item);
  int const within = item - token * static_cast<int>(params.items_a_token.divisor);
  int const chunks = params.head_dim / (2 * chunk_columns); // 4 or 8
  int const pair = within % chunks * chunk_columns;
  int const group = within / chunks;
  int const half = params.head_dim / 2;
  bool const present = item < params.items;
  int position = -1;
  Turn turn;
  auto const look_up = [&] {
    if (present) position = params.positions[token];
    bool const in_table = position >= 0 && position < params.table_positions;
    load_turn(in_table ? params.table + int64_t{position} * params.head_dim : nullptr, params.head_dim, pair, turn);
  };
  if (params.settled) look_up();
  wait_for_kernel_before();
  uint4 low[Heads], high[Heads];
#pragma unroll
  for (int i = 0; i < Heads; ++i) {
    int const head = group + i * params.head_groups;
    if (!present || head >= params.heads) continue; // padding is loaded, too: to know it costs a load before this one
    tik_bf16 const* const x =
        head < params.query_heads ? params.queries.row(token, head) : params.keys.row(token, head - params.query_heads);
    low[i] = load_chunk(x + pair);
    high[i] = load_chunk(x + half + pair);
  }
  if (!params.settled) look_up(); // after the other loads: it waits for the position
  if (position < 0) return;
  if (params.inverse) invert(turn);
#pragma unroll
  for (int i = 0; i < Heads; ++i) {
    int const head = group + i * params.head_groups;
    if (head >= params.heads) continue;
    tik_bf16* const out =
        head < params.query_heads ? params.queries_out.row(token, head) : params.keys_out.row(token, head - params.query_heads);
    store_chunk(out + pair, rotate_first(low[i], high[i], turn));
    store_chunk(out + half + pair, rotate_second(high[i], low[i], turn));
  }
}

template <int Heads>
cudaError_t launch(tik_rotary_args const& args) {
  int const heads = args.query_heads + args.key_heads;
  int const groups = (heads + Heads - 1) / Heads;
  int const items_a_token = groups * args.head_dim / (2 * chunk_columns);
  RotaryParams const params{places(args.queries),
                            places(args.keys),
                            places(args.queries_out),
                            places(args.keys_out),
                            args.query_heads,
                            heads,
                            args.head_dim,
                            args.inverse != 0,
                            args.settled != 0,
                            args.table_positions,
                            args.table,
                            args.positions,
                            groups,
                            Divisor(items_a_token),
                            args.tokens * items_a_token};
  return launch_overlapped(rotary_kernel<Heads>, dim3((params.items + rotary_threads - 1) / rotary_threads), rotary_threads,
                           args.stream, params);
}

} // namespace

tik_status rotary_table(tik_rotary_table_args const* args) { return Error::keep(rotary::fill_table(args)); }

tik_status rotary(tik_rotary_args const* args) {
  return run("launching tik_rotary", rotary::validate(args), [&] {
    // Two heads a thread spare reading cosines and sines again, but so few threads are done sooner with one.
    constexpr int few = 3 * 1024 * multiprocessors;
    int64_t const items =
        int64_t{args->tokens} * (args->query_heads + args->key_heads) * (args->head_dim / (2 * chunk_columns));
    return items <= few ? launch<1>(*args) : launch<2>(*args);
  });
}

} // namespace tik::operators::sm90
