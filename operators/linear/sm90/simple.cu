// The chain as plainly as the hardware allows: mma.sync m16n8k16 on operands that every lane loads for itself.
#include "operators/linear/sm90/kernels.h"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/rows.cuh"

namespace tik::operators::sm90 {
namespace {

constexpr int simple_warps = 4;
constexpr int simple_columns = 32; // of a warp: four tiles that share x

// The 32-bit word with elements k and k + 1 of a row; zero where the matrix ends.
__device__ __forceinline__ uint32_t load_pair(tik_bf16 const* data, int64_t stride, int row, int rows, int k) {
  return row < rows ? *reinterpret_cast<uint32_t const*>(data + row * stride + k) : 0;
}

__device__ __forceinline__ void multiply(float (&d)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void store(tik_linear_args const& args, int token, int column, float sum) {
  if (token >= args.tokens || column >= args.out_features) return;
  if (args.bias) sum = add(sum, to_float(args.bias[column]));
  int64_t const at = token * args.out_stride + column;
  if (args.out_type == TIK_FP32) {
    static_cast<float*>(args.out)[at] = sum;
  } else {
    static_cast<tik_bf16*>(args.out)[at] = to_bf16(sum);
  }
}

__global__ void __launch_bounds__(32 * simple_warps) simple_linear_kernel(__grid_constant__ tik_linear_args const args) {
  int const lane = threadIdx.x % 32;
  int const token = blockIdx.y * 16 + lane / 4;
  int const first_column = (blockIdx.x * simple_warps + threadIdx.x / 32) * simple_columns;
  float sums[simple_columns / 8][4] = {};
  wait_for_kernel_before();
  for (int k = lane % 4 * 2; k < args.in_features; k += 16) {
    uint32_t a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = load_pair(args.x.data, args.x.token_stride, token + i % 2 * 8, args.tokens, k + i / 2 * 8);
    }
#pragma unroll
    for (int tile = 0; tile < simple_columns / 8; ++tile) {
      int const row = first_column + tile * 8 + lane / 4;
      uint32_t const b0 = load_pair(args.weight.data, args.weight.token_stride, row, args.out_features, k);
      uint32_t const b1 = load_pair(args.weight.data, args.weight.token_stride, row, args.out_features, k + 8);
      multiply(sums[tile], a, b0, b1);
    }
  }
  start_kernel_after();
#pragma unroll
  for (int tile = 0; tile < simple_columns / 8; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      store(args, token + i / 2 * 8, first_column + tile * 8 + lane % 4 * 2 + i % 2, sums[tile][i]);
    }
  }
}

} // namespace

cudaError_t launch_simple(tik_linear_args const& args) {
  constexpr int columns = simple_columns * simple_warps;
  dim3 const grid((args.out_features + columns - 1) / columns, (args.tokens + 15) / 16);
  return launch_overlapped(simple_linear_kernel, grid, 32 * simple_warps, args.stream, args);
}

} // namespace tik::operators::sm90
