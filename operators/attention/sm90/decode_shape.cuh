// The compile-time shape of a decode variant, its shared memory, and the item that a block works on.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "operators/attention/sm90/decode_params.h"
#include "operators/attention/sm90/decode_ptx.cuh"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::attention::sm90 {

inline constexpr int decode_warps = 8;
inline constexpr int decode_threads = 32 * decode_warps;
inline constexpr int stage_bytes = 16384;
inline constexpr int group_keys = 16;
inline constexpr int groups_per_tile = tile_keys / group_keys;
inline constexpr int groups_per_part = part_keys / group_keys;
inline constexpr int ranks = 8;                        // largest cluster
inline constexpr int page_entries = part_keys + 2;     // page table entries a block reads at most
inline constexpr float minus_infinity = -__builtin_huge_valf();

template <int HeadDim, int Cluster, int RowBlocks, int Stages>
struct DecodeShape {
  static constexpr int head_dim = HeadDim, cluster = Cluster, row_blocks = RowBlocks, stages = Stages;
  static constexpr int block_rows = 8 * RowBlocks;
  static constexpr int columns = HeadDim / Cluster;             // of V and the output, in one block
  static constexpr int key_chunks = HeadDim / 8;                // 16-byte chunks of a K row
  static constexpr int value_chunks = columns / 8;              // and of a V row's slice
  static constexpr int groups_per_stage = stage_bytes / (group_keys * HeadDim * 2);
  static constexpr int value_rows = stage_bytes / (columns * 2); // V rows of a stage
  static constexpr int value_warps = columns / 16;
  static constexpr int blocks_per_multiprocessor = Stages * stage_bytes + RowBlocks * 32768 <= 98304 ? 2 : 1;
  static_assert(columns >= 16 && value_warps <= decode_warps && Stages >= 4);
};

// What a group of 16 keys leaves for one block of 8 query rows: first its scores as the accumulators of a warp, later in the
// same place its weights as operands of the second product and its four group sums a row.
union GroupSlot {
  float4 scores[32];
  struct {
    uint2 weights[32]; // [row * 4 + c]: keys 2c, 2c + 1 and keys 2c + 8, 2c + 9
    float sums[32];    // [row * 4 + class]
  };
};

template <class Shape>
struct DecodeShared {
  alignas(128) uint8_t stages[Shape::stages][stage_bytes];
  GroupSlot groups[groups_per_part][Shape::row_blocks];
  float tile_max[tiles_per_part][Shape::block_rows];
  float alpha[tiles_per_part][Shape::block_rows];
  float part_max[Shape::block_rows];
  float part_sum[Shape::block_rows];
  int64_t pages[page_entries]; // byte offsets of the pages that the part touches
  uint32_t last_arrival;
  alignas(8) uint64_t scores_arrived;
};

// Swizzle: eight consecutive rows of `Chunks` 16-byte chunks put the same chunk into eight different bank groups.
template <int Chunks>
__device__ __forceinline__ uint32_t chunk_offset(uint32_t row, uint32_t chunk) {
  uint32_t const swizzled = Chunks >= 8 ? chunk ^ (row & 7) : Chunks == 4 ? chunk ^ ((row >> 1) & 3) : chunk ^ ((row >> 2) & 1);
  return (row * Chunks + swizzled) * 16;
}

// The work of one block.
struct Item {
  int sequence, head, row_block, part, rank;
  int rows;        // query rows of this block of rows
  int first_row;   // of the query rows of this KV head and sequence
  int query_token; // row of the queries where the sequence starts
  int first_seen;  // keys that the sequence's first query token sees
  int keys;        // keys of this part that the block's last row sees
  int parts;       // parts that the block's last row sees
  int first_token; // of the part, counted from the start of its first page
};

// A query row of the block as a row of the packed queries and a query head. Decode has one token a sequence, so it divides
// nothing.
struct QueryRow {
  int64_t token;
  int head;
};
__device__ __forceinline__ QueryRow query_row(DecodeParams const& params, Item const& item, int row) {
  int const index = item.first_row + row;
  int const token = params.query_offsets ? index / params.ratio : 0;
  return {item.query_token + token, item.head * params.ratio + index - token * params.ratio};
}

// Keys of the whole sequence that a row of the block sees.
__device__ __forceinline__ int keys_seen(DecodeParams const& params, Item const& item, int row) {
  return item.first_seen + (params.query_offsets ? (item.first_row + row) / params.ratio : 0);
}

}  // namespace tik::attention::sm90
