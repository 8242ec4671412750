// The gradient of queries: a block, one warp group, has 64 queries under one head and walks their keys in order, a tile of 64
// at a time. Scores and their gradients stay in registers.
#include "operators/attention_backward/sm90/kernels.h"
#include "operators/attention_backward/sm90/tiles.cuh"

namespace tik::operators::attention_backward {
namespace {

// Queries, out_gradient, and two of keys and of values.
template <int Dim>
constexpr int shared_bytes = 6 * tile_bytes<Dim>;

template <int Dim>
__global__ void __launch_bounds__(threads, 2) query_gradient_kernel(Params const params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Sequence const sequence = sequence_of(params, blockIdx.z);
  int const tile = static_cast<int>(gridDim.x - 1 - blockIdx.x); // those with the most keys first
  int const first = tile * tile_rows, left = sequence.tokens - first;
  if (left <= 0) return;
  int const head = blockIdx.y, kv_head = head / (params.query_heads / params.kv_heads);
  auto const tile_at = [](int number) { return Tile<Dim>{shared + number * tile_bytes<Dim>}; };
  Tile<Dim> const queries = tile_at(0), out_gradient = tile_at(1);

  int64_t const row = sequence.first + first;
  queries.load(params.queries.row(row, head), params.queries.token_stride, left);
  out_gradient.load(params.out_gradient.row(row, head), params.out_gradient.token_stride, left);
  auto const load_keys = [&](int number) {
    int64_t const key = sequence.first + number * tile_rows;
    int const keys = sequence.tokens - number * tile_rows;
    tile_at(2 + number % 2).load(params.keys.row(key, kv_head), params.keys.token_stride, keys);
    tile_at(4 + number % 2).load(params.values.row(key, kv_head), params.values.token_stride, keys);
    copy_async_commit();
  };
  load_keys(0);

  float lse[2], mean[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int const query = row_of(2 * half);
    int64_t const place = int64_t{head} * params.tokens + row + query;
    lse[half] = query < left ? params.lse_log2[place] : 0;
    mean[half] = query < left ? params.mean[place] : 0;
  }

  float sums[Dim / 2];
  clear(sums);
#pragma unroll 1
  for (int number = 0; number <= tile; ++number) {
    if (number < tile) {
      load_keys(number + 1);
      copy_async_wait<1>();
    } else {
      copy_async_wait<0>();
    }
    copies_are_there();
    Tile<Dim> const keys = tile_at(2 + number % 2), values = tile_at(4 + number % 2);
    float scores[score_count], gradients[score_count];
    uint32_t weights[score_count / 2];
    start_scores(scores, queries, keys);
    start_scores(gradients, out_gradient, values);
    ptx::wgmma_wait<1>();
    ptx::pin(scores);
#pragma unroll
    for (int i = 0; i < score_count; ++i) scores[i] = weight(scores[i], params.scale_log2, lse[i % 4 / 2]);
    if (number == tile) {
#pragma unroll
      for (int i = 0; i < score_count; ++i)
        if (column_of(i / 4, i % 4) > row_of(i % 4)) scores[i] = 0;
    }
    ptx::wgmma_wait<0>();
    ptx::pin(gradients);
#pragma unroll
    for (int i = 0; i < score_count; ++i)
      gradients[i] = scores[i] == 0 ? 0 : score_gradient(scores[i], gradients[i], mean[i % 4 / 2]);
    round_weights(weights, gradients);
    start_product(sums, weights, keys);
    ptx::wgmma_wait<0>();
    ptx::pin(sums);
    __syncthreads();
  }
  store_rows<Dim>(sums, params.softmax_scale, params.query_gradient.row(row, head), params.query_gradient.token_stride, left);
}

template <int Dim>
cudaError_t launch(Params const& params, dim3 grid, cudaStream_t stream) {
  cudaError_t const error =
      cudaFuncSetAttribute(query_gradient_kernel<Dim>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes<Dim>);
  if (error != cudaSuccess) return error;
  query_gradient_kernel<Dim><<<grid, threads, shared_bytes<Dim>, stream>>>(params);
  return cudaGetLastError();
}

} // namespace

cudaError_t launch_query_gradient(Params const& params, int head_dim, int longest, cudaStream_t stream) {
  dim3 const grid((longest + tile_rows - 1) / tile_rows, params.query_heads, params.batch);
  return head_dim == 64 ? launch<64>(params, grid, stream) : launch<128>(params, grid, stream);
}

} // namespace tik::operators::attention_backward
