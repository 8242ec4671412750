// The kernels of dense linear on Hopper as host functions. All compute the canonical chain, so which one runs never shows in
// the bits; each of these only launches.
#pragma once

#include <cuda_runtime.h>

#include <iterator>
#include <vector>

#include "operators/linear/contract.h"

namespace tik::operators::sm90 {

// How the strip kernel cuts a call.
struct StripCut {
  int strip_rows;   // weight rows of a block: even, at most the largest of strip_widths
  int tile_tokens;  // tokens of a block: 8 to 64, a multiple of 8
  int stage_chunks; // 2 or 4
  int ring_bytes;   // of shared memory for the ring, at most largest_ring_bytes, at least fewest_stages stages
};
// The widths of the tensor core's product that the kernel is compiled for: a strip takes the next.
#define TIK_STRIP_WIDTHS(WIDTH) WIDTH(8) WIDTH(16) WIDTH(24) WIDTH(32) WIDTH(48) WIDTH(64) WIDTH(96) WIDTH(128) WIDTH(192)
#define TIK_WIDTH(width) width,
inline constexpr int strip_widths[] = {TIK_STRIP_WIDTHS(TIK_WIDTH)};
#undef TIK_WIDTH
inline constexpr int largest_strip_rows = std::end(strip_widths)[-1];
inline constexpr int largest_ring_bytes = 216 * 1024; // one block a multiprocessor
inline constexpr int half_ring_bytes = 102 * 1024;    // two

// A stage of the ring: chunks of 64 columns of the tokens and of the strip. The swizzle repeats every eight rows, so that what
// is loaded at once begins at a multiple of that. A ring of one stage would wait for itself: a stage is released when the next
// has begun.
inline constexpr int chunk_row_bytes = 128;
inline constexpr int fewest_stages = 2;
constexpr int64_t blocks_of(int64_t size, int64_t block) { return (size + block - 1) / block; }
constexpr __device__ __host__ int eights(int rows) { return (rows + 7) / 8 * 8; }
constexpr __device__ __host__ int stage_bytes(int chunks, int tile_tokens, int laid_rows) {
  return chunk_row_bytes * eights(chunks * (tile_tokens + laid_rows));
}

// The cuts that may be the fastest for calls of this size, from the sizes alone.
std::vector<StripCut> strip_candidates(int tokens, int out_features);

// cudaErrorInvalidValue for a cut that the kernel does not have.
cudaError_t launch_strip(tik_linear_args const& args, StripCut const& cut);

// One warp for 16 x 32 outputs and nothing clever: what the others are compared with.
cudaError_t launch_simple(tik_linear_args const& args);

} // namespace tik::operators::sm90
