// Which cuts of the strip kernel are worth measuring. What bounds a call of few tokens is reading the weight: one strip for
// each multiprocessor with a deep ring, or with half of it, so that the next call's loads begin while this one ends, or two
// strips for each. With more tokens a multiprocessor receives more of x than of the weight, and tiles of 32 tokens and taller
// strips need less of both than tiles of 64.
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

// Stages of four chunks where enough of them fit that most are under way.
constexpr int enough_stages = 5;

void add_cut(std::vector<StripCut>& cuts, int height, int tile_tokens, int ring_bytes) {
  int const chunks = enough_stages * stage_bytes(4, tile_tokens, height) <= ring_bytes ? 4 : 2;
  if (fewest_stages * stage_bytes(chunks, tile_tokens, eights(height)) > ring_bytes) return;
  cuts.push_back({height, tile_tokens, chunks, ring_bytes});
}

} // namespace

std::vector<StripCut> strip_candidates(int tokens, int out_features) {
  std::vector<StripCut> cuts;
  int const all_tokens = eights(tokens);
  for (int const largest : {32, largest_tile}) {
    if (largest == largest_tile && all_tokens <= 32) continue;
    int const tile_tokens = std::min(all_tokens, largest);
    int64_t const rows = int64_t{out_features} * blocks_of(tokens, tile_tokens);
    int const height = strip_rows(rows, multiprocessors, 2);
    add_cut(cuts, height, tile_tokens, largest_ring_bytes);
    add_cut(cuts, height, tile_tokens, half_ring_bytes);
    if (eights(height) != height) add_cut(cuts, eights(height), tile_tokens, largest_ring_bytes);
    add_cut(cuts, strip_rows(rows, 2 * multiprocessors, 2), tile_tokens, half_ring_bytes);
  }
  return cuts;
}

} // namespace tik::operators::sm90
