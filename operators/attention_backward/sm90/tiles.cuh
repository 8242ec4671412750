// Tiles of 64 rows in shared memory and the products that a warp group makes of them.
//
// A tile lies as wgmma reads it: [Dim / 64][64 rows][64 columns], each row of 128 bytes in pieces of 16 that are permuted by
// the low three bits of the row's number. Of a product [64, 64] a thread has, for i = 0..7 and e = 0..3, the element d[4 * i +
// e] of row row_of(e) and column column_of(i, e).
#pragma once

#include "operators/attention/sm90/decode_ptx.cuh"
#include "operators/attention/sm90/full_ptx.cuh"
#include "operators/attention_backward/sm90/numerics.cuh"
#include "operators/sm90/rows.cuh"

namespace tik::operators::attention_backward {

namespace ptx = attention::sm90::ptx;
using attention::sm90::copy_async_16;
using attention::sm90::copy_async_commit;
using attention::sm90::copy_async_wait;

inline constexpr int threads = 128; // a warp group
inline constexpr int piece_elements = 8;
inline constexpr int panel_bytes = tile_rows * 128; // 64 columns
inline constexpr int step_bytes = 16 * 128;         // 16 rows of a panel
inline constexpr int score_count = tile_rows / 2;   // elements of a [64, 64] product that a thread has

template <int Dim>
inline constexpr int tile_bytes = Dim / 64 * panel_bytes;

__device__ __forceinline__ int row_of(int e) { return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + e / 2 * 8; }
__device__ __forceinline__ int column_of(int i, int e) { return 8 * i + threadIdx.x % 4 * 2 + e % 2; }

template <int Dim>
struct Tile {
  unsigned char* base; // a multiple of 1024 in shared memory

  // Starts copying `rows` rows (at most 64) that begin at `source`; the rows after them become zeros.
  __device__ __forceinline__ void load(tik_bf16 const* source, int64_t stride, int rows) const {
    constexpr int pieces = Dim / piece_elements;
    uint32_t const start = ptx::shared_address(base);
#pragma unroll
    for (int i = threadIdx.x; i < tile_rows * pieces; i += threads) {
      int const row = i / pieces, piece = i % pieces;
      bool const valid = row < rows;
      copy_async_16(start + piece / 8 * panel_bytes + row * 128 + ((piece % 8 ^ row % 8) << 4),
                    source + (valid ? row * stride : 0) + piece * piece_elements, valid);
    }
  }
};

// Copies a number, or writes 0 without reading when valid is false.
__device__ __forceinline__ void copy_async_number(float* shared, float const* global, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(ptx::shared_address(shared)), "l"(global),
               "r"(valid ? 4 : 0)
               : "memory");
}

// After the copies of this thread: all threads' copies are where the tensor core reads them.
__device__ __forceinline__ void copies_are_there() {
  ptx::fence_shared_for_async();
  __syncthreads();
}

// d = a b^T, one chain over Dim from +0. Under way until wgmma_wait().
template <int Dim>
__device__ __forceinline__ void start_scores(float (&d)[score_count], Tile<Dim> a, Tile<Dim> b) {
  uint32_t const left = ptx::matrix_start(a.base, 0), right = ptx::matrix_start(b.base, 0);
  ptx::pin(d);
  ptx::wgmma_fence();
#pragma unroll
  for (int column = 0; column < Dim; column += 16) {
    uint32_t const at = column / 64 * panel_bytes + column % 64 * static_cast<int>(sizeof(tik_bf16));
    ptx::multiply_shared(d, ptx::advance(left, at), ptx::advance(right, at), column != 0);
  }
  ptx::wgmma_commit();
}

// sums[64, Dim] goes on by four steps: weights [64, 64] times the rows of `b`. Under way until wgmma_wait().
template <int Dim>
__device__ __forceinline__ void start_product(float (&sums)[Dim / 2], uint32_t const (&weights)[score_count / 2], Tile<Dim> b) {
  uint32_t const right = ptx::matrix_start(b.base, panel_bytes);
  ptx::pin(sums);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < tile_rows / 16; ++step)
    ptx::multiply_registers(sums, &weights[4 * step], ptx::advance(right, step * step_bytes), true);
  ptx::wgmma_commit();
}

// A product as the left operand of the next, rounded to bfloat16.
__device__ __forceinline__ void round_weights(uint32_t (&weights)[score_count / 2], float const (&d)[score_count]) {
#pragma unroll
  for (int i = 0; i < score_count / 2; ++i) weights[i] = to_bf16_pair(d[2 * i], d[2 * i + 1]);
}

template <int Count>
__device__ __forceinline__ void clear(float (&sums)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) sums[i] = 0;
}

// Writes bf16(sums * scale) to the first `rows` rows of a tile that begins at `target`.
template <int Dim>
__device__ __forceinline__ void store_rows(float const (&sums)[Dim / 2], float scale, tik_bf16* target, int64_t stride,
                                           int rows) {
#pragma unroll
  for (int e = 0; e < 4; e += 2) {
    if (row_of(e) >= rows) continue;
    auto* const words = reinterpret_cast<uint32_t*>(target + row_of(e) * stride);
#pragma unroll
    for (int i = 0; i < Dim / 8; ++i)
      words[column_of(i, 0) / 2] = to_bf16_pair(multiply(sums[4 * i + e], scale), multiply(sums[4 * i + e + 1], scale));
  }
}

} // namespace tik::operators::attention_backward
