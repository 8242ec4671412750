// SwiGLU and its gradients on Hopper: every thread takes a chunk of eight columns, a block's chunks follow each other in a row.
#include "operators/functions.h"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/rows.cuh"
#include "operators/swiglu/arithmetic.h"
#include "operators/swiglu/validate.h"

namespace tik::operators::sm90 {
namespace {

// Chunks of a call are numbered token * chunks_a_token + chunk.
struct ChunkGrid {
  Divisor chunks_a_token;
  int64_t chunks;
};

struct SwigluParams {
  SourceRows gate, up;
  TargetRows out;
  ChunkGrid grid;
};

struct SwigluBackwardParams {
  SourceRows gate, up, out_gradient;
  TargetRows gate_gradient, up_gradient;
  ChunkGrid grid;
};

// Where chunk `number` lies.
struct ChunkPlace {
  int token, column;
};
__device__ __forceinline__ ChunkPlace chunk_place(ChunkGrid const& grid, int64_t number) {
  int const token = grid.chunks_a_token.quotient(static_cast<uint32_t>(number));
  return {token, static_cast<int>(number - int64_t{token} * grid.chunks_a_token.divisor) * chunk_columns};
}

// The sigmoids of a chunk. One test a chunk spares the bounds of its elements.
__device__ __forceinline__ void sigmoids(float const (&gate)[8], float (&s)[8]) {
  float largest = 0; // a NaN is not seen here, and needs no bound
#pragma unroll
  for (int c = 0; c < 8; ++c) largest = fmaxf(largest, fabsf(gate[c]));
  if (largest <= largest_exponent) {
#pragma unroll
    for (int c = 0; c < 8; ++c) s[c] = swiglu::sigmoid_within(gate[c]);
  } else {
#pragma unroll
    for (int c = 0; c < 8; ++c) s[c] = swiglu::sigmoid(gate[c]);
  }
}

constexpr int swiglu_threads = 128;
constexpr int swiglu_backward_threads = 256;

// One chunk a thread: two of them take more registers than they save time, at any number of tokens.
__global__ void __launch_bounds__(swiglu_threads) swiglu_kernel(SwigluParams const params) {
  start_kernel_after();
  int64_t const number = int64_t{blockIdx.x} * swiglu_threads + threadIdx.x;
  ChunkPlace const at = chunk_place(params.grid, number);
  wait_for_kernel_before();
  if (number >= params.grid.chunks) return;
  uint4 const gates = load_chunk(params.gate.row(at.token, 0) + at.column);
  uint4 const ups = load_chunk(params.up.row(at.token, 0) + at.column);
  float gate[8], up[8], s[8];
  unpack(gates, gate);
  unpack(ups, up);
  sigmoids(gate, s);
#pragma unroll
  for (int c = 0; c < 8; ++c) up[c] = swiglu::gated(swiglu::activated(gate[c], s[c]), up[c]);
  store_chunk(params.out.row(at.token, 0) + at.column, pack(up));
}

__global__ void __launch_bounds__(swiglu_backward_threads) swiglu_backward_kernel(SwigluBackwardParams const params) {
  start_kernel_after();
  int64_t const number = int64_t{blockIdx.x} * swiglu_backward_threads + threadIdx.x;
  ChunkPlace const at = chunk_place(params.grid, number);
  wait_for_kernel_before();
  if (number >= params.grid.chunks) return;
  float gate[8], up[8], out_gradient[8], s[8];
  unpack(load_chunk(params.gate.row(at.token, 0) + at.column), gate);
  unpack(load_chunk(params.up.row(at.token, 0) + at.column), up);
  unpack(load_chunk(params.out_gradient.row(at.token, 0) + at.column), out_gradient);
  sigmoids(gate, s);
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    swiglu::Gradients const gradients = swiglu::gradients(gate[c], up[c], out_gradient[c], s[c]);
    gate[c] = gradients.gate;
    up[c] = gradients.up;
  }
  store_chunk(params.gate_gradient.row(at.token, 0) + at.column, pack(gate));
  store_chunk(params.up_gradient.row(at.token, 0) + at.column, pack(up));
}

ChunkGrid chunk_grid(int tokens, int columns) {
  int const chunks = columns / chunk_columns;
  return {Divisor(chunks), int64_t{tokens} * chunks};
}

dim3 blocks_of(int64_t chunks, int chunks_a_block) { return dim3((chunks + chunks_a_block - 1) / chunks_a_block); }

cudaError_t launch(tik_swiglu_args const& args) {
  SwigluParams const params{places(args.gate), places(args.up), places(args.out), chunk_grid(args.tokens, args.columns)};
  return launch_overlapped(swiglu_kernel, blocks_of(params.grid.chunks, swiglu_threads), swiglu_threads, args.stream, params);
}

cudaError_t launch(tik_swiglu_backward_args const& args) {
  SwigluBackwardParams const params{places(args.gate),         places(args.up),
                                    places(args.out_gradient), places(args.gate_gradient),
                                    places(args.up_gradient),  chunk_grid(args.tokens, args.columns)};
  return launch_overlapped(swiglu_backward_kernel, blocks_of(params.grid.chunks, swiglu_backward_threads),
                           swiglu_backward_threads, args.stream, params);
}

} // namespace

tik_status swiglu(tik_swiglu_args const* args) {
  return run("launching tik_swiglu", swiglu::validate(args), [&] { return launch(*args); });
}

tik_status swiglu_backward(tik_swiglu_backward_args const* args) {
  return run("launching tik_swiglu_backward", swiglu::validate(args), [&] { return launch(*args); });
}

} // namespace tik::operators::sm90
