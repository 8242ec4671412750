// The softmax over the vocabulary, from logits in device memory: sums of parts, what they come to, gradients of logits.
#pragma once

#include "operators/language_model_head/arithmetic.h"
#include "operators/language_model_head/contract.h"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/row_sum.cuh"

namespace tik::operators::sm90 {

namespace head = language_model_head;

inline constexpr int softmax_warps = 8;
inline constexpr int softmax_rounds = head::part_columns / head::round_columns;
static_assert(head::chains == warp_threads && head::chain_columns == 4);

// Logits of some tokens and of the vocabulary from a multiple of a part.
struct LogitChunk {
  float const* logits; // [tokens, columns]
  int64_t stride;
  int tokens;
  int first_column;
  int columns;
  float inverse_temperature;
};

__device__ __forceinline__ float warp_maximum(float x) {
#pragma unroll
  for (int half = warp_threads / 2; half > 0; half /= 2) x = head::larger(__shfl_xor_sync(whole_warp, x, half), x);
  return x;
}

// A lane's z of a part: four neighbours every round_columns. Those that do not exist are -infinity.
struct PartZ {
  float z[softmax_rounds][4];

  __device__ __forceinline__ void load(LogitChunk const& chunk, int token, int first) {
    float const* const row = chunk.logits + token * chunk.stride;
#pragma unroll
    for (int round = 0; round < softmax_rounds; ++round) {
      int const column = first + round * head::round_columns + threadIdx.x % warp_threads * 4;
      float4 const four = column < chunk.columns ? *reinterpret_cast<float4 const*>(row + column)
                                                 : float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
      z[round][0] = multiply(four.x, chunk.inverse_temperature);
      z[round][1] = multiply(four.y, chunk.inverse_temperature);
      z[round][2] = multiply(four.z, chunk.inverse_temperature);
      z[round][3] = multiply(four.w, chunk.inverse_temperature);
    }
  }
  __device__ __forceinline__ head::Sums sums() const {
    float maximum = -INFINITY;
#pragma unroll
    for (auto const& four : z) {
#pragma unroll
      for (float const value : four) maximum = head::larger(value, maximum);
    }
    maximum = warp_maximum(maximum);
    float weights = 0, weighted = 0;
#pragma unroll
    for (auto const& four : z) {
      if (four[0] == -INFINITY) break; // columns exist in fours, and none behind the first that does not
#pragma unroll
      for (float const value : four) head::add_column(head::below(value, maximum), weights, weighted);
    }
    return {maximum, sum_of_lanes<warp_threads>(weights), sum_of_lanes<warp_threads>(weighted)};
  }
};

// A warp for each token and part of the chunk. sums: [tokens, parts], of which the chunk's parts are written.
__global__ void __launch_bounds__(32 * softmax_warps)
    part_sums_kernel(LogitChunk const chunk, int32_t const* targets, int parts, head::Sums* sums, float* target_z) {
  int64_t const warp = int64_t{blockIdx.x} * softmax_warps + threadIdx.x / warp_threads;
  int const chunk_parts = (chunk.columns + head::part_columns - 1) / head::part_columns;
  int const token = static_cast<int>(warp / chunk_parts);
  int const part = static_cast<int>(warp % chunk_parts);
  int const first = part * head::part_columns;
  wait_for_kernel_before();
  start_kernel_after();
  if (token >= chunk.tokens) return;
  PartZ z;
  z.load(chunk, token, first);
  head::Sums const result = z.sums();
  if (threadIdx.x % warp_threads != 0) return;
  sums[int64_t{token} * parts + chunk.first_column / head::part_columns + part] = result;
  int const target = targets[token] - chunk.first_column;
  if (target >= first && target < min(first + head::part_columns, chunk.columns)) {
    target_z[token] = multiply(chunk.logits[token * chunk.stride + target], chunk.inverse_temperature);
  }
}

// A warp for each token: all of its parts.
__global__ void __launch_bounds__(32 * softmax_warps)
    finish_softmax_kernel(head::Sums const* sums, float const* target_z, int tokens, int parts, int vocabulary,
                          tik_log_probability_outputs const outputs) {
  int const token = blockIdx.x * softmax_warps + threadIdx.x / warp_threads;
  int const lane = threadIdx.x % warp_threads;
  wait_for_kernel_before();
  start_kernel_after();
  if (token >= tokens) return;
  head::Sums const* const mine = sums + int64_t{token} * parts;
  head::Sums all{-INFINITY, 0, 0};
  for (int part = lane; part < parts; part += head::chains) all.maximum = head::larger(mine[part].maximum, all.maximum);
  all.maximum = warp_maximum(all.maximum);
  for (int part = lane; part < parts; part += head::chains) head::add_part(mine[part], all.maximum, all.weights, all.weighted);
  all.weights = sum_of_lanes<warp_threads>(all.weights);
  all.weighted = sum_of_lanes<warp_threads>(all.weighted);
  if (lane != 0) return;
  int const target = outputs.targets[token];
  head::Row const row = head::finish(all, target >= 0 && target < vocabulary ? target_z[token] : 0.0f);
  outputs.log_probability[token] = head::log_probability_of(row, target, vocabulary);
  if (outputs.entropy) outputs.entropy[token] = row.entropy;
  if (outputs.log_sum) outputs.log_sum[token] = row.log_sum;
}

// What the gradients of logits are made of, by token.
struct RowGradients {
  int32_t const* targets;
  float const* log_sum;
  float const* entropy; // or NULL
  float const* log_probability_gradient;
  float const* entropy_gradient; // or NULL
};

__device__ __forceinline__ head::RowGradient row_gradient(RowGradients const& rows, int token, float inverse_temperature) {
  bool const with_entropy = rows.entropy_gradient != nullptr;
  return {rows.log_sum[token], with_entropy ? rows.entropy[token] : 0.0f,
          rows.targets[token] < 0 ? 0.0f : rows.log_probability_gradient[token],
          with_entropy ? rows.entropy_gradient[token] : 0.0f, inverse_temperature};
}

// Four columns a thread. gradients: [tokens, columns] of bfloat16 with the chunk's stride.
__global__ void __launch_bounds__(256)
    logit_gradients_kernel(LogitChunk const chunk, RowGradients const rows, tik_bf16* gradients) {
  int const token = blockIdx.y;
  int const column = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  wait_for_kernel_before();
  start_kernel_after();
  if (column >= chunk.columns) return;
  head::RowGradient const row = row_gradient(rows, token, chunk.inverse_temperature);
  int const target = rows.targets[token] - chunk.first_column - column;
  int64_t const at = token * chunk.stride + column;
  float4 const four = *reinterpret_cast<float4 const*>(chunk.logits + at);
  float d[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) d[i] = head::logit_gradient(row, multiply(d[i], chunk.inverse_temperature), target == i);
  *reinterpret_cast<uint2*>(gradients + at) = {to_bf16_pair(d[0], d[1]), to_bf16_pair(d[2], d[3])};
}

// Rounds a dense [tokens, columns] of fp32 to rows of bfloat16; four columns a thread.
__global__ void __launch_bounds__(256) round_rows_kernel(float const* from, int columns, tik_bf16* to, int64_t stride) {
  int const column = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  wait_for_kernel_before();
  start_kernel_after();
  if (column >= columns) return;
  float4 const four = *reinterpret_cast<float4 const*>(from + int64_t{blockIdx.y} * columns + column);
  *reinterpret_cast<uint2*>(to + blockIdx.y * stride + column) = {to_bf16_pair(four.x, four.y), to_bf16_pair(four.z, four.w)};
}

} // namespace tik::operators::sm90
