// The gradient of the embedding on Hopper. The block of a token whose id came before has nothing to do; the others find the
// later tokens of their id and add them in order, so that no two blocks write the same row and no order is left to chance.
#include "operators/embedding/validate.h"
#include "operators/functions.h"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/row_sum.cuh"
#include "operators/sm90/rows.cuh"

namespace tik::operators::sm90 {
namespace {

struct EmbeddingBackwardParams {
  int32_t const* ids;
  SourceRows out_gradient;
  float* table_gradient;
  int64_t table_gradient_stride;
  int tokens;
  int columns;
  int vocabulary;
};

constexpr int backward_threads = 128;
constexpr int searched = 8; // ids that a thread looks at before the block compares notes

// Which tokens of a piece match: bit b of word w stands for the 32 w + b th.
struct Matches {
  uint32_t words[backward_threads * searched / warp_threads];
};

// Marks the tokens from `first` whose id is `id`; true when there are any. Called by the whole block.
__device__ bool find_matches(EmbeddingBackwardParams const& params, int id, int first, int end, Matches& matches) {
  bool any = false;
  __syncthreads(); // the matches before have been used
#pragma unroll
  for (int i = 0; i < searched; ++i) {
    int const token = first + i * backward_threads + threadIdx.x;
    bool const match = token < end && params.ids[token] == id;
    uint32_t const word = __ballot_sync(whole_warp, match);
    if (threadIdx.x % warp_threads == 0) matches.words[(i * backward_threads + threadIdx.x) / warp_threads] = word;
    any |= match;
  }
  return __syncthreads_or(any);
}

__global__ void __launch_bounds__(backward_threads) embedding_backward_kernel(EmbeddingBackwardParams const params) {
  __shared__ Matches matches;
  constexpr int piece = backward_threads * searched;
  int const own = blockIdx.x;
  int const column = (blockIdx.y * backward_threads + threadIdx.x) * chunk_columns;
  wait_for_kernel_before();
  start_kernel_after();
  int const id = params.ids[own];
  if (id < 0 || id >= params.vocabulary) return;
  for (int first = 0; first < own; first += piece) {
    if (find_matches(params, id, first, own, matches)) return;
  }
  bool const inside = column < params.columns;
  float* const target = params.table_gradient + id * params.table_gradient_stride + column;
  float sum[8] = {};
  if (inside) {
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] = target[i];
  }
  for (int first = own; first < params.tokens; first += piece) {
    if (!find_matches(params, id, first, params.tokens, matches)) continue;
    for (int word = 0; word < piece / warp_threads; ++word) {
      for (uint32_t left = matches.words[word]; left != 0; left &= left - 1) {
        int const token = first + word * warp_threads + __ffs(left) - 1;
        if (!inside) continue;
        float gradient[8];
        unpack(load_chunk(params.out_gradient.row(token, 0) + column), gradient);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[i] = add(sum[i], gradient[i]);
      }
    }
  }
  if (!inside) return;
#pragma unroll
  for (int i = 0; i < 8; ++i) target[i] = sum[i];
}

cudaError_t launch(tik_embedding_backward_args const& args) {
  EmbeddingBackwardParams const params{
      args.ids,       places(args.out_gradient), args.table_gradient, args.table_gradient_stride, args.tokens, args.columns,
      args.vocabulary};
  unsigned const column_blocks = (args.columns / chunk_columns + backward_threads - 1) / backward_threads;
  return launch_overlapped(embedding_backward_kernel, dim3(args.tokens, column_blocks), backward_threads, args.stream, params);
}

} // namespace

tik_status embedding_backward(tik_embedding_backward_args const* args) {
  return run("launching tik_embedding_backward", embedding::validate(args), [&] { return launch(*args); });
}

} // namespace tik::operators::sm90
