// Writing keys and values into the cache on Hopper: a thread copies the same chunk of a key and of its value for some tokens.
#include "operators/functions.h"
#include "operators/kv_write/sm90/cache.cuh"
#include "operators/kv_write/validate.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {
namespace {

struct KvWriteParams {
  SourceRows keys, values;
  CacheParams cache;
  int tokens;
  Divisor chunks_a_token;
  int chunks_a_head;
  int token_groups; // a thread has tokens group, group + token_groups, ...
};

constexpr int kv_write_threads = 128;

template <int Tokens>
__global__ void __launch_bounds__(kv_write_threads) kv_write_kernel(KvWriteParams const params) {
  start_kernel_after();
  int const item = blockIdx.x * kv_write_threads + threadIdx.x;
  int const group = params.chunks_a_token.quotient(item);
  int const within = item - group * static_cast<int>(params.chunks_a_token.divisor);
  int const head = within / params.chunks_a_head;
  int const column = within % params.chunks_a_head * chunk_columns;
  uint4 keys[Tokens], values[Tokens];
  int64_t offsets[Tokens];
  auto const present = [&](int token) { return group < params.token_groups && token < params.tokens; };
  auto const look_up = [&] {
#pragma unroll
    for (int i = 0; i < Tokens; ++i) {
      int const token = group + i * params.token_groups;
      offsets[i] = present(token) ? cache_offset(params.cache, token) : -1;
    }
  };
  if (params.cache.settled) look_up();
  wait_for_kernel_before();
#pragma unroll
  for (int i = 0; i < Tokens; ++i) {
    int const token = group + i * params.token_groups;
    if (!present(token)) continue;
    keys[i] = load_chunk(params.keys.row(token, head) + column);
    values[i] = load_chunk(params.values.row(token, head) + column);
  }
  if (!params.cache.settled) look_up(); // after the other loads: it waits for positions
#pragma unroll
  for (int i = 0; i < Tokens; ++i) {
    if (offsets[i] < 0) continue;
    int64_t const at = offsets[i] + head * params.cache.head_stride + column;
    store_chunk(params.cache.keys + at, keys[i]);
    store_chunk(params.cache.values + at, values[i]);
  }
}

template <int Tokens>
cudaError_t launch(tik_kv_write_args const& args) {
  int const chunks_a_head = args.head_dim / chunk_columns;
  int const groups = (args.tokens + Tokens - 1) / Tokens;
  int const items = groups * args.kv_heads * chunks_a_head;
  KvWriteParams const params{places(args.keys),
                             places(args.values),
                             cache_params(args.target),
                             args.tokens,
                             Divisor(args.kv_heads * chunks_a_head),
                             chunks_a_head,
                             groups};
  return launch_overlapped(kv_write_kernel<Tokens>, dim3((items + kv_write_threads - 1) / kv_write_threads), kv_write_threads,
                           args.stream, params);
}

} // namespace

tik_status kv_write(tik_kv_write_args const* args) {
  return run("launching tik_kv_write", kv_write::validate(args), [&] {
    constexpr int few = 512; // tokens
    return args->tokens <= few ? launch<1>(*args) : launch<2>(*args);
  });
}

} // namespace tik::operators::sm90
