// The gradients of keys and values: a block, one warp group, has 64 keys under one key/value head and walks the query heads
// that read it in order, and under each the queries from its tile on, 64 at a time. Scores are computed transposed, so weights
// and gradients of scores stay in registers as left operands of the next products.
#include "operators/attention_backward/sm90/kernels.h"
#include "operators/attention_backward/sm90/tiles.cuh"

namespace tik::operators::attention_backward {
namespace {

// What a stage holds beside the rows of queries and of out_gradient.
struct QueryNumbers {
  float lse_log2[tile_rows], mean[tile_rows];
};
template <int Dim>
constexpr int shared_bytes = 6 * tile_bytes<Dim> + 2 * static_cast<int>(sizeof(QueryNumbers));

template <int Dim>
__global__ void __launch_bounds__(threads, 2) key_value_gradient_kernel(Params const params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Sequence const sequence = sequence_of(params, blockIdx.z);
  int const tile = blockIdx.x; // those with the most queries first
  int const first = tile * tile_rows, left = sequence.tokens - first;
  if (left <= 0) return;
  int const kv_head = blockIdx.y, ratio = params.query_heads / params.kv_heads;
  auto const tile_at = [](int number) { return Tile<Dim>{shared + number * tile_bytes<Dim>}; };
  auto* const numbers = reinterpret_cast<QueryNumbers*>(shared + 6 * tile_bytes<Dim>);
  Tile<Dim> const keys = tile_at(0), values = tile_at(1);

  int64_t const row = sequence.first + first;
  keys.load(params.keys.row(row, kv_head), params.keys.token_stride, left);
  values.load(params.values.row(row, kv_head), params.values.token_stride, left);

  // Round `number` has the tile `tile + number % rounds` of queries under head `number / rounds` of those that read this one.
  int const rounds = (left + tile_rows - 1) / tile_rows;
  auto const load_queries = [&](int number) {
    int const head = kv_head * ratio + number / rounds;
    int const query = first + number % rounds * tile_rows, count = sequence.tokens - query;
    int64_t const at = sequence.first + query;
    tile_at(2 + number % 2).load(params.queries.row(at, head), params.queries.token_stride, count);
    tile_at(4 + number % 2).load(params.out_gradient.row(at, head), params.out_gradient.token_stride, count);
    int const i = threadIdx.x % tile_rows;
    bool const valid = i < count;
    int64_t const place = int64_t{head} * params.tokens + at + (valid ? i : 0);
    QueryNumbers& to = numbers[number % 2];
    if (threadIdx.x < tile_rows) {
      copy_async_number(&to.lse_log2[i], params.lse_log2 + place, valid);
    } else {
      copy_async_number(&to.mean[i], params.mean + place, valid);
    }
    copy_async_commit();
  };
  load_queries(0);

  float key_sums[Dim / 2], value_sums[Dim / 2];
  clear(key_sums);
  clear(value_sums);
#pragma unroll 1
  for (int number = 0; number < ratio * rounds; ++number) {
    if (number + 1 < ratio * rounds) {
      load_queries(number + 1);
      copy_async_wait<1>();
    } else {
      copy_async_wait<0>();
    }
    copies_are_there();
    Tile<Dim> const queries = tile_at(2 + number % 2), out_gradient = tile_at(4 + number % 2);
    QueryNumbers const& of_queries = numbers[number % 2];
    float scores[score_count], gradients[score_count];
    uint32_t weights[score_count / 2], weight_gradients[score_count / 2];
    start_scores(scores, keys, queries);
    start_scores(gradients, values, out_gradient);
    ptx::wgmma_wait<1>();
    ptx::pin(scores);
#pragma unroll
    for (int i = 0; i < score_count; ++i)
      scores[i] = weight(scores[i], params.scale_log2, of_queries.lse_log2[column_of(i / 4, i % 4)]);
    if (number % rounds == 0) {
#pragma unroll
      for (int i = 0; i < score_count; ++i)
        if (row_of(i % 4) > column_of(i / 4, i % 4)) scores[i] = 0;
    }
    round_weights(weights, scores);
    ptx::wgmma_wait<0>();
    ptx::pin(gradients);
    start_product(value_sums, weights, out_gradient);
#pragma unroll
    for (int i = 0; i < score_count; ++i)
      gradients[i] = scores[i] == 0 ? 0 : score_gradient(scores[i], gradients[i], of_queries.mean[column_of(i / 4, i % 4)]);
    round_weights(weight_gradients, gradients);
    start_product(key_sums, weight_gradients, queries);
    ptx::wgmma_wait<0>();
    ptx::pin(value_sums);
    ptx::pin(key_sums);
    __syncthreads();
  }
  store_rows<Dim>(key_sums, params.softmax_scale, params.key_gradient.row(row, kv_head), params.key_gradient.token_stride,
                  left);
  store_rows<Dim>(value_sums, 1, params.value_gradient.row(row, kv_head), params.value_gradient.token_stride, left);
}

template <int Dim>
cudaError_t launch(Params const& params, dim3 grid, cudaStream_t stream) {
  cudaError_t const error =
      cudaFuncSetAttribute(key_value_gradient_kernel<Dim>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes<Dim>);
  if (error != cudaSuccess) return error;
  key_value_gradient_kernel<Dim><<<grid, threads, shared_bytes<Dim>, stream>>>(params);
  return cudaGetLastError();
}

} // namespace

cudaError_t launch_key_value_gradient(Params const& params, int head_dim, int longest, cudaStream_t stream) {
  dim3 const grid((longest + tile_rows - 1) / tile_rows, params.kv_heads, params.batch);
  return head_dim == 64 ? launch<64>(params, grid, stream) : launch<128>(params, grid, stream);
}

} // namespace tik::operators::attention_backward
