// QK-norm, RoPE and the write into the cache in one kernel on Hopper: some lanes of a warp share a head, each with one chunk;
// half of them hold the partners of the other half.
#include "operators/functions.h"
#include "operators/kv_write/sm90/cache.cuh"
#include "operators/qk_norm_rope_kv_write/validate.h"
#include "operators/rms_norm/sm90/forward_chunk.cuh"
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
  Divisor heads; // of a token: query heads, key heads, value heads
  int rows;
  float inverse_columns;
  float epsilon;
};

constexpr int fused_threads = 128;

__device__ __forceinline__ uint4 partner_chunk(uint4 const& chunk, int half_lanes) {
  return {__shfl_xor_sync(whole_warp, chunk.x, half_lanes), __shfl_xor_sync(whole_warp, chunk.y, half_lanes),
          __shfl_xor_sync(whole_warp, chunk.z, half_lanes), __shfl_xor_sync(whole_warp, chunk.w, half_lanes)};
}

template <int HeadDim>
__global__ void __launch_bounds__(fused_threads) qk_norm_rope_kv_write_kernel(FusedParams const params) {
  constexpr int lanes = HeadDim / chunk_columns;
  int const row = (blockIdx.x * fused_threads + threadIdx.x) / lanes;
  int const lane = threadIdx.x % lanes;
  int const column = lane * chunk_columns;
  int const token = params.heads.quotient(row);
  int const head = row - token * static_cast<int>(params.heads.divisor);
  bool const is_query = head < params.query_heads;
  bool const is_value = head >= params.query_heads + params.kv_heads;
  int const kv_head = head - params.query_heads - (is_value ? params.kv_heads : 0);
  wait_for_kernel_before();
  bool const present = row < params.rows;
  int const position = present ? params.cache.positions[token] : -1;
  uint4 chunk{}, weight{};
  tik_bf16 const* const weights = is_query ? params.query_weight : params.key_weight;
  if (present) {
    chunk = load_chunk((is_query   ? params.queries.row(token, head)
                        : is_value ? params.values.row(token, kv_head)
                                   : params.keys.row(token, kv_head)) +
                       column);
    if (weights && !is_value) weight = load_chunk(weights + column);
  }
  int64_t const offset = present && !is_query ? cache_offset(params.cache, token) : -1;
  Turn turn;
  bool const in_table = position >= 0 && position < params.table_positions;
  load_turn(in_table ? params.table + int64_t{position} * HeadDim : nullptr, HeadDim, lane % (lanes / 2) * chunk_columns, turn);
  start_kernel_after();

  float const total = sum_of_lanes<lanes>(squares(chunk));
  uint4 result = chunk;
  if (weights) result = normalize(chunk, weight, rms_norm::inverse_rms(total, params.inverse_columns, params.epsilon));
  uint4 const partner = partner_chunk(result, lanes / 2);
  result = lane < lanes / 2 ? rotate_first(result, partner, turn) : rotate_second(result, partner, turn);
  if (is_value) result = chunk;
  if (position < 0) return;
  if (is_query) {
    store_chunk(params.queries_out.row(token, head) + column, result);
  } else if (offset >= 0) {
    tik_bf16* const cache = is_value ? params.cache.values : params.cache.keys;
    store_chunk(cache + offset + kv_head * params.cache.head_stride + column, result);
  }
}

template <int HeadDim>
cudaError_t launch(tik_qk_norm_rope_kv_write_args const& args) {
  int const heads = args.query_heads + 2 * args.kv_heads;
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
                           Divisor(heads),
                           args.tokens * heads,
                           rms_norm::inverse_columns(HeadDim),
                           args.epsilon};
  constexpr int rows_a_block = fused_threads / (HeadDim / chunk_columns);
  return launch_overlapped(qk_norm_rope_kv_write_kernel<HeadDim>, dim3((params.rows + rows_a_block - 1) / rows_a_block),
                           fused_threads, args.stream, params);
}

} // namespace

tik_status qk_norm_rope_kv_write(tik_qk_norm_rope_kv_write_args const* args) {
  return run("launching tik_qk_norm_rope_kv_write", qk_norm_rope_kv_write::validate(args),
             [&] { return args->head_dim == 64 ? launch<64>(*args) : launch<128>(*args); });
}

} // namespace tik::operators::sm90
