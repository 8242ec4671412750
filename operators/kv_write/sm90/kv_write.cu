// Writing keys and values into the cache on Hopper: a thread copies the same chunk of a key and of its value.
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
};

constexpr int kv_write_threads = 128;

// One token a thread: two of them are slower at any number of tokens.
__global__ void __launch_bounds__(kv_write_threads) kv_write_kernel(KvWriteParams const params) {
  start_kernel_after();
  int const item = blockIdx.x * kv_write_threads + threadIdx.x;
  int const token = params.chunks_a_token.quotient(item);
  int const within = item - token * static_cast<int>(params.chunks_a_token.divisor);
  int const head = within / params.chunks_a_head;
  int const column = within % params.chunks_a_head * chunk_columns;
  bool const present = token < params.tokens;
  int64_t offset = -1;
  if (params.cache.settled && present) offset = cache_offset(params.cache, token);
  wait_for_kernel_before();
  if (!present) return;
  uint4 const key = load_chunk(params.keys.row(token, head) + column);
  uint4 const value = load_chunk(params.values.row(token, head) + column);
  if (!params.cache.settled) offset = cache_offset(params.cache, token); // after the other loads: it waits for the position
  if (offset < 0) return;
  offset += head * params.cache.head_stride + column;
  store_chunk(params.cache.keys + offset, key);
  store_chunk(params.cache.values + offset, value);
}

cudaError_t launch(tik_kv_write_args const& args) {
  int const chunks_a_head = args.head_dim / chunk_columns;
  int const chunks_a_token = args.kv_heads * chunks_a_head;
  int64_t const items = int64_t{args.tokens} * chunks_a_token; // at most 2^31, so the last one has 31 bits
  KvWriteParams const params{places(args.keys), places(args.values),     cache_params(args.target),
                             args.tokens,       Divisor(chunks_a_token), chunks_a_head};
  return launch_overlapped(kv_write_kernel, dim3((items + kv_write_threads - 1) / kv_write_threads), kv_write_threads,
                           args.stream, params);
}

} // namespace

tik_status kv_write(tik_kv_write_args const* args) {
  return run("launching tik_kv_write", kv_write::validate(args), [&] { return launch(*args); });
}

} // namespace tik::operators::sm90
