// What the two parts of the hardware contract test share: operands in shared memory, and the chain of mma.sync.m16n8k16.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tests/gpu/wgmma.h"

namespace tik::gpu_suite::hardware {

inline constexpr int rows = 64;
inline constexpr int columns = 256;
inline constexpr int most_steps = 8;
inline constexpr int depth = 16 * most_steps;
inline constexpr int threads = 128;         // a warp group
inline constexpr int tiles_per_block = 128; // 16 x 8 output tiles in 64 x 256
inline constexpr uint32_t core_bytes = 128; // 8 x 8 elements
inline constexpr uint32_t along_rows = depth / 8 * core_bytes;

// Operands [row][k] as core matrices of 8 x 8 elements, and the result of mma.sync.m16n8k16.
struct Tile {
  alignas(128) uint16_t a[rows * depth];
  alignas(128) uint16_t b[columns * depth];
  alignas(128) uint16_t b_transposed[columns * depth]; // n contiguous
  uint32_t expected[rows * columns];
};

__device__ inline int element(int row, int k) { return (row / 8 * (depth / 8) + k / 8) * 64 + row % 8 * 8 + k % 8; }
__device__ inline int transposed_element(int row, int k) { return (row / 8 * (depth / 8) + k / 8) * 64 + k % 8 * 8 + row % 8; }

// Makes what threads wrote to shared memory visible to wgmma; follow it with __syncthreads().
__device__ inline void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ inline uint32_t pair(uint16_t const* operand, int row, int k) {
  return *reinterpret_cast<uint32_t const*>(&operand[element(row, k)]);
}

// The A fragment of 16 rows and the B fragment of 8 columns, for one lane.
__device__ inline void load_a(uint32_t (&a)[4], uint16_t const* operand, int row, int k, int lane) {
  for (int i = 0; i < 4; ++i) a[i] = pair(operand, row + lane / 4 + i % 2 * 8, k + lane % 4 * 2 + i / 2 * 8);
}

__device__ inline void mma(float (&d)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// One 16 x 8 tile by mma.sync: rows of `m_operand` from m, rows of `n_operand` from n.
__device__ inline void mma_chain(float (&d)[4], uint16_t const* m_operand, int m, uint16_t const* n_operand, int n, int steps,
                                 int lane) {
  for (int step = 0; step < steps; ++step) {
    uint32_t a[4];
    load_a(a, m_operand, m, 16 * step, lane);
    int const k = 16 * step + lane % 4 * 2;
    mma(d, a, pair(n_operand, n + lane / 4, k), pair(n_operand, n + lane / 4, k + 8));
  }
}

} // namespace tik::gpu_suite::hardware
