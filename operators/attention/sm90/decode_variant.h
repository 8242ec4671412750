// Which variant of the decode kernel runs: a typed configuration, chosen by one pure function from shape and limits. The choice
// moves work between blocks; it never changes a bit of the result.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "operators/attention/contract.h"

namespace tik::attention::sm90 {

struct DecodeVariant {
  // Within limits of one tile: blocks that share the columns of an item, 1, 2 or 4 (head_dim 64: 1 or 2), and none of what
  // follows counts. Otherwise 0.
  int splits;
  // Blocks that share one item, each with head_dim / cluster columns of the output: 2, 4 or 8 (head_dim 64: 2 or 4). With 1,
  // blocks walk over all items instead, one block a multiprocessor.
  int cluster;
  int parts;      // 1, or the parts a cluster has, no fewer than the longest sequence: 2 or 4, cluster * parts is 8
  int row_blocks; // blocks of 8 query rows a thread block serves: 1 or 2
  int stages;     // 16 KiB buffers for keys and values on their way
};

// Stages of a block that walks over items, with one or two blocks of 8 rows: more only reach farther ahead.
constexpr int stages_of_walk(int row_blocks) { return row_blocks == 1 ? 5 : 7; }

// How the work of a call falls into items: one item is one part of one KV head of one sequence for one block of query rows.
struct DecodeGrid {
  int rows;       // query rows a KV head serves in one sequence: query tokens x (query_heads / kv_heads)
  int block_rows; // query rows of one item: 8 or 16
  int row_blocks; // items that divide the rows between them
  int parts;      // parts of the longest sequence
};

// The grid of the largest call within the limits.
DecodeGrid decode_grid(tik_attention_shape const& shape, tik_attention_limits const& limits);

// The variant for `batch` sequences within the limits. `extends`: with query_offsets, for which there is no variant of one
// tile.
DecodeVariant choose_decode(tik_attention_shape const& shape, tik_attention_limits const& limits, int batch, bool extends);

// All variants that can serve a call within the limits.
std::vector<DecodeVariant> decode_variants(tik_attention_shape const& shape, tik_attention_limits const& limits, bool extends);

// Launches a variant, for measurements and checks; launch_decode() launches the chosen one.
cudaError_t launch_decode_variant(tik_attention_args const& args, DecodeVariant const& variant);

} // namespace tik::attention::sm90
