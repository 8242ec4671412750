// The kernels of dense linear on Hopper as host functions. All compute the canonical chain, so which one runs never shows in
// the bits; linear.cu validates and selects, each of these only launches.
#pragma once

#include <cuda_runtime.h>

#include <optional>

#include "operators/linear/contract.h"

namespace tik::operators::sm90 {

// How the strip kernel cuts a call.
struct StripCut {
  int width;         // weight rows of a block: one of strip_widths
  int tile_tokens;   // tokens of a block: 8 to 64, a multiple of 8
  int x_sharers;     // blocks of a cluster that share tokens: a power of two, at most tile_tokens / 8
  int strip_sharers; // blocks of a cluster that share a strip: a power of two, at most width / 8
  int ring_bytes;    // of shared memory for the ring, at most largest_ring_bytes
};
inline constexpr int strip_widths[] = {8, 16, 24, 32, 48, 64, 96, 128, 192};
inline constexpr int largest_ring_bytes = 216 * 1024; // one block a multiprocessor
inline constexpr int half_ring_bytes = 102 * 1024;    // two

// How the strip kernel takes a call of this size; nothing when the vendor's library is as fast. From the sizes alone.
std::optional<StripCut> select_strip(int tokens, int in_features, int out_features);

cudaError_t launch_strip(tik_linear_args const& args, StripCut const& cut);

// One warp for 16 x 32 outputs and nothing clever: what the others are compared with.
cudaError_t launch_simple(tik_linear_args const& args);

} // namespace tik::operators::sm90
