// Gradients of RMSNorm. A worker (a block of threads, or some lanes of a warp for narrow rows) takes the rows of one block of
// the weight's gradient in order, so that every column's chain stays in a register.
#pragma once

#include "operators/rms_norm/arithmetic.h"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/row_sum.cuh"
#include "operators/sm90/rows.cuh"

namespace tik::operators::sm90 {

struct NormBackwardParams {
  SourceRows x;
  tik_bf16 const* weight;
  SourceRows out_gradient;
  SourceRows sum_gradient; // data NULL: none
  TargetRows x_gradient;
  float* weight_blocks; // [blocks, columns]; NULL when the weight's gradient is not wanted
  int rows;
  Divisor heads;
  int columns;
  float inverse_columns;
  float epsilon;
};

// Eight columns of a row and of what arrives there.
struct BackwardChunk {
  uint4 x, out_gradient, sum_gradient;

  __device__ __forceinline__ void load(NormBackwardParams const& params, int token, int head, int column) {
    x = load_chunk(params.x.row(token, head) + column);
    out_gradient = load_chunk(params.out_gradient.row(token, head) + column);
    if (params.sum_gradient.data) sum_gradient = load_chunk(params.sum_gradient.row(token, head) + column);
  }
};

__device__ __forceinline__ float square_chain(BackwardChunk const& chunk) {
  float x[8];
  unpack(chunk.x, x);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = rms_norm::accumulate_square(x[i], sum);
  return sum;
}

__device__ __forceinline__ float product_chain(BackwardChunk const& chunk, uint4 const& weight) {
  float x[8], gradient[8], w[8];
  unpack(chunk.x, x);
  unpack(chunk.out_gradient, gradient);
  unpack(weight, w);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = rms_norm::accumulate_product(rms_norm::weighted(gradient[i], w[i]), x[i], sum);
  return sum;
}

// The chunk of x_gradient; adds the row to the chains of the weight's gradient.
__device__ __forceinline__ uint4 finish_chunk(BackwardChunk const& chunk, uint4 const& weight, float squares, float products,
                                              NormBackwardParams const& params, float (&chains)[8]) {
  float const r = rms_norm::inverse_rms(squares, params.inverse_columns, params.epsilon);
  float const m = rms_norm::mean_product(products, r, params.inverse_columns);
  float x[8], gradient[8], w[8], past[8];
  unpack(chunk.x, x);
  unpack(chunk.out_gradient, gradient);
  unpack(weight, w);
  unpack(chunk.sum_gradient, past);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float const h = rms_norm::normalized(x[i], r);
    chains[i] = rms_norm::accumulate_weight(gradient[i], h, chains[i]);
    float const t = rms_norm::centered(rms_norm::weighted(gradient[i], w[i]), h, m);
    x[i] = params.sum_gradient.data ? rms_norm::x_gradient(t, r, past[i]) : rms_norm::x_gradient(t, r);
  }
  return pack(x);
}

__device__ __forceinline__ void store_chains(float const (&chains)[8], float* at) {
  *reinterpret_cast<float4*>(at) = {chains[0], chains[1], chains[2], chains[3]};
  *reinterpret_cast<float4*>(at + 4) = {chains[4], chains[5], chains[6], chains[7]};
}

// Rows of up to 256 columns: `Lanes` threads a row.
template <int Lanes>
__global__ void __launch_bounds__(128) narrow_rms_norm_backward_kernel(NormBackwardParams const params) {
  int const block = (blockIdx.x * blockDim.x + threadIdx.x) / Lanes;
  int const column = threadIdx.x % Lanes * chunk_columns;
  bool const inside = column < params.columns;
  float chains[8] = {};
  wait_for_kernel_before();
  start_kernel_after();
  uint4 const weight = inside ? load_chunk(params.weight + column) : uint4{};
  for (int i = 0; i < rms_norm::block_rows; ++i) {
    int const row = block * rms_norm::block_rows + i;
    bool const present = row < params.rows && inside;
    int const token = params.heads.quotient(row);
    int const head = row - token * params.heads.divisor;
    BackwardChunk chunk{};
    if (present) chunk.load(params, token, head, column);
    float const squares = sum_of_lanes<Lanes>(square_chain(chunk));
    float const products = sum_of_lanes<Lanes>(product_chain(chunk, weight));
    if (!present) continue;
    store_chunk(params.x_gradient.row(token, head) + column, finish_chunk(chunk, weight, squares, products, params, chains));
  }
  if (params.weight_blocks && inside && block * rms_norm::block_rows < params.rows) {
    store_chains(chains, params.weight_blocks + int64_t{block} * params.columns + column);
  }
}

// Wider rows: a block of threads a row, one chunk a thread.
template <int Groups>
__global__ void __launch_bounds__(1024) wide_rms_norm_backward_kernel(NormBackwardParams const params) {
  __shared__ GroupSums shared[2][2];
  int const column = threadIdx.x * chunk_columns;
  bool const inside = column < params.columns;
  int const groups = (params.columns / chunk_columns + group_chunks - 1) / group_chunks;
  for (auto& turn : shared) {
    for (auto& sums : turn) clear_missing_groups(sums, groups);
  }
  float chains[8] = {};
  wait_for_kernel_before();
  start_kernel_after();
  uint4 const weight = inside ? load_chunk(params.weight + column) : uint4{};
  int const first = blockIdx.x * rms_norm::block_rows;
  int const end = min(first + rms_norm::block_rows, params.rows);
  for (int row = first; row < end; ++row) {
    int const token = params.heads.quotient(row);
    int const head = row - token * params.heads.divisor;
    BackwardChunk chunk{};
    if (inside) chunk.load(params, token, head, column);
    float squares[1] = {square_chain(chunk)};
    float products[1] = {product_chain(chunk, weight)};
    auto& [square_sums, product_sums] = shared[row % 2];
    share_groups<1>(squares, square_sums);
    share_groups<1>(products, product_sums);
    __syncthreads();
    uint4 const gradient =
        finish_chunk(chunk, weight, sum_of_row<Groups>(square_sums), sum_of_row<Groups>(product_sums), params, chains);
    if (inside) store_chunk(params.x_gradient.row(token, head) + column, gradient);
  }
  if (params.weight_blocks && inside) {
    store_chains(chains, params.weight_blocks + int64_t{blockIdx.x} * params.columns + column);
  }
}

// out[s, c] = chain over the `count` rows of in from s * span_rows, for block row s; onto = true continues from what out holds.
__global__ void __launch_bounds__(256)
    sum_rows_kernel(float const* in, int rows, int span_rows, int columns, bool onto, float* out) {
  int const column = blockIdx.x * blockDim.x + threadIdx.x;
  wait_for_kernel_before();
  start_kernel_after();
  if (column >= columns) return;
  int const first = blockIdx.y * span_rows;
  int const end = min(first + span_rows, rows);
  float* const target = out + int64_t{blockIdx.y} * columns + column;
  float sum = onto ? *target : in[int64_t{first} * columns + column];
#pragma unroll 8
  for (int row = onto ? first : first + 1; row < end; ++row) sum = add(sum, in[int64_t{row} * columns + column]);
  *target = sum;
}

} // namespace tik::operators::sm90
