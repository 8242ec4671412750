// What both gradients need of every query row: <out_gradient, out> and its log-sum-exp, by head so that a tile's lie together.
#include "operators/attention_backward/sm90/kernels.h"
#include "operators/attention_backward/sm90/numerics.cuh"
#include "operators/sm90/row_sum.cuh"

namespace tik::operators::attention_backward {
namespace {

constexpr int means_threads = 256;

// Dim / 8 neighbouring lanes share a row, each with a chunk.
template <int Dim>
__global__ void __launch_bounds__(means_threads) means_kernel(Params const params) {
  constexpr int lanes = Dim / chunk_columns;
  int64_t const number = (int64_t{blockIdx.x} * means_threads + threadIdx.x) / lanes;
  int const used = params.offsets[params.batch];
  bool const there = number < int64_t{used} * params.query_heads;
  int const token = there ? static_cast<int>(number / params.query_heads) : 0;
  int const head = there ? static_cast<int>(number % params.query_heads) : 0;
  int const column = threadIdx.x % lanes * chunk_columns;
  float sum = 0;
  if (there) {
    float out[8], gradient[8];
    sm90::unpack(sm90::load_chunk(params.out.row(token, head) + column), out);
    sm90::unpack(sm90::load_chunk(params.out_gradient.row(token, head) + column), gradient);
#pragma unroll
    for (int c = 0; c < chunk_columns; ++c) sum = multiply_add(gradient[c], out[c], sum);
  }
  sum = sm90::sum_of_lanes<lanes>(sum);
  if (!there || column != 0) return;
  int64_t const place = int64_t{head} * params.tokens + token;
  params.mean[place] = sum;
  params.lse_log2[place] = lse_log2(params.lse[int64_t{token} * params.query_heads + head]);
}

} // namespace

cudaError_t launch_means(Params const& params, int head_dim, cudaStream_t stream) {
  int64_t const needed = int64_t{params.tokens} * params.query_heads * (head_dim / chunk_columns);
  dim3 const grid(static_cast<unsigned>((needed + means_threads - 1) / means_threads));
  (head_dim == 64 ? means_kernel<64> : means_kernel<128>)<<<grid, means_threads, 0, stream>>>(params);
  return cudaGetLastError();
}

} // namespace tik::operators::attention_backward
