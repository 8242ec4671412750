// Which variant of the decode kernel runs: a typed configuration, chosen by one pure function from shape and limits. The choice
// moves work between blocks; it never changes a bit of the result.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "operators/attention/contract.h"

namespace tik::attention::sm90 {

struct DecodeVariant {
  // Blocks that share one item, each with head_dim / cluster columns of the output: 2, 4 or 8 (head_dim 64: 2 or 4). With 1,
  // blocks walk over all items instead, one block a multiprocessor.
  int cluster;
  int row_blocks; // blocks of 8 query rows a thread block serves: 1 or 2
  int stages;     // 16 KiB buffers for keys and values on their way, with one row block: 5 or 8
};

// How the work of a call falls into items: one item is one part of one KV head of one sequence for one block of query rows.
struct DecodeGrid {
  int rows;       // query rows a KV head serves in one sequence: query tokens x (query_heads / kv_heads)
  int block_rows; // query rows of one item: 8 or 16
  int row_blocks; // items that divide the rows between them
  int parts;      // parts of the longest sequence
};

// The grid of the largest call within the limits.
DecodeGrid decode_grid(tik_attention_shape const& shape, tik_attention_limits const& limits);

// The variant for `batch` sequences within the limits.
DecodeVariant choose_decode(tik_attention_shape const& shape, tik_attention_limits const& limits, int batch);

// Launches a variant, for measurements; launch_decode() launches the chosen one.
cudaError_t launch_decode_variant(tik_attention_args const& args, DecodeVariant const& variant);

} // namespace tik::attention::sm90
