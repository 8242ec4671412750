// Which cuts of the strip kernel are worth measuring. What bounds a call of few tokens is reading the weight: one strip for
// each multiprocessor with a deep ring, or two with half of it, so that all of them read all of the time. Blocks of a cluster
// share x where there is much of it, and strips where there are several blocks of tokens.
#include <algorithm>

#include "operators/linear/sm90/kernels.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {
namespace {

constexpr int largest_tile = 64;

int round_up(int size, int step) { return static_cast<int>(blocks_of(size, step)) * step; }

// Rows of a strip when `blocks` blocks run at a time and every round of them has as many.
int strip_rows(int64_t rows, int blocks, int step) {
  int64_t const rounds = blocks_of(rows, int64_t{blocks} * largest_strip_rows);
  return round_up(static_cast<int>(blocks_of(rows, blocks * rounds)), step);
}

} // namespace

std::vector<StripCut> strip_candidates(int tokens, int out_features) {
  int const tile_tokens = std::min(round_up(tokens, 8), largest_tile);
  int const token_blocks = static_cast<int>(blocks_of(tokens, tile_tokens));
  std::vector<StripCut> cuts;
  for (int const x_sharers : {1, 4}) {
    for (int const strip_sharers : {1, 2}) {
      if (tile_tokens % (8 * x_sharers) != 0 || strip_sharers > token_blocks) continue;
      int const step = x_sharers * strip_sharers > 1 ? 8 * strip_sharers : 2;
      int64_t const rows = int64_t{out_features} * token_blocks;
      for (int const blocks_each : {1, 2}) {
        StripCut const cut{strip_rows(rows, blocks_each * multiprocessors, step), tile_tokens, x_sharers, strip_sharers,
                           blocks_each == 1 ? largest_ring_bytes : half_ring_bytes};
        if (cut.ring_bytes >= fewest_stages * stage_bytes(tile_tokens, cut.strip_rows)) cuts.push_back(cut);
      }
    }
  }
  return cuts;
}

} // namespace tik::operators::sm90
