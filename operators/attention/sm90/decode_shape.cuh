// The compile-time shape of a decode variant, its shared memory, and the item that a block works on.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "operators/attention/sm90/decode_params.h"
#include "operators/attention/sm90/decode_ptx.cuh"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::attention::sm90 {

inline constexpr int consumer_warps = 8;
inline constexpr int producer_warps = 4;
inline constexpr int consumer_threads = 32 * consumer_warps;
inline constexpr int producer_threads = 32 * producer_warps;
inline constexpr int finisher_warps = 4; // only of a block alone
inline constexpr int finisher_threads = 32 * finisher_warps;
// Two blocks on a multiprocessor leave 80 registers a thread, a block alone 128; consumers need more, the others less.
inline constexpr int consumer_registers = 96;
inline constexpr int producer_registers = 48;
inline constexpr int walking_consumer_registers = 168;
inline constexpr int walking_helper_registers = 88;
inline constexpr int stage_bytes = 16384;
inline constexpr int group_keys = 16;
inline constexpr int groups_per_tile = tile_keys / group_keys;
inline constexpr int groups_per_part = part_keys / group_keys;
inline constexpr int ranks = 8;                    // largest cluster
inline constexpr int page_entries = part_keys + 2; // page table entries a part needs at most
inline constexpr float minus_infinity = -__builtin_huge_valf();

// `Ranks` blocks share an item. A block alone (1) walks over all items of the call; otherwise a cluster has the items of
// `Parts` parts and leaves when they are done. With more than one part a cluster has all parts of its sequence and folds them.
template <int HeadDim, int Cluster, int RowBlocks, int Stages, int Parts = 1>
struct DecodeShape {
  static constexpr int head_dim = HeadDim, cluster = Cluster, row_blocks = RowBlocks, stages = Stages, parts = Parts;
  static constexpr int block_rows = 8 * RowBlocks;
  static constexpr int columns = HeadDim / Cluster; // of V and the output, in one block
  static constexpr int key_chunks = HeadDim / 8;    // 16-byte chunks of a K row
  static constexpr int value_chunks = columns / 8;  // and of a V row's slice
  static constexpr int groups_per_stage = stage_bytes / (group_keys * HeadDim * 2);
  static constexpr int value_rows = stage_bytes / (columns * 2); // V rows of a stage
  static constexpr int value_warps = columns / 16;
  static constexpr int warp_groups = (groups_per_part / consumer_warps + Cluster - 1) / Cluster; // of one warp at most
  static constexpr int warp_shares = consumer_warps / groups_per_stage; // stages that consumer warps take in turn
  static constexpr bool walks = Cluster == 1;
  static constexpr int threads = consumer_threads + producer_threads + (walks ? finisher_threads : 0);
  // The warp that computes the row sums: one without columns of V.
  static constexpr int sums_warp = walks ? consumer_warps + producer_warps : consumer_warps - 1;
  // Of earlier parts, in the block that folds them.
  static constexpr int partial_bytes = (Parts - 1) * block_rows * (columns * int{sizeof(float)} + int{sizeof(float2)});
  static constexpr int blocks_per_multiprocessor =
      !walks && Stages * stage_bytes + RowBlocks * 32768 + partial_bytes <= 106496 ? 2 : 1;
  // Such blocks leave no room on a multiprocessor: the next kernel of the stream may be told to start at once, and starts when
  // there is room. Otherwise its blocks would disturb the start of these.
  static constexpr bool fills = walks || blocks_per_multiprocessor == 2;
  // Producers of a block alone are at most half a ring of items ahead, because an item has two stages or more.
  static constexpr int query_buffers = walks ? Stages / 2 + 1 : 1;
  static constexpr int query_pitch = HeadDim * 2 + 16; // bytes, padded against bank conflicts
  static_assert(columns >= 16 && value_warps <= consumer_warps && Stages >= 4);
};

enum NamedBarrier { consumers_barrier = 1, sums_barrier, producers_barrier, partials_barrier, finishers_barrier };

// The scores of a tile, from all blocks of the cluster; then, in the same place, its weights as second operands of V^T P^T, two
// groups of 16 keys together. Both for each group and block of 8 query rows at [row * 4 + c]: keys 2c, 2c + 1, 2c + 8, 2c + 9.
template <class Shape>
union Tile {
  float4 scores[groups_per_tile][Shape::row_blocks][32];
  uint4 weights[groups_per_tile / 2][Shape::row_blocks][32];
};

template <class Shape>
struct DecodeShared {
  alignas(128) uint8_t stages[Shape::stages][stage_bytes];
  Tile<Shape> tiles[tiles_per_part];
  alignas(16) uint8_t queries[Shape::query_buffers][Shape::block_rows * Shape::query_pitch];
  float tile_max[tiles_per_part][Shape::block_rows];
  float tile_sums[tiles_per_part][Shape::row_blocks][32]; // [row * 4 + class]
  float alpha[tiles_per_part][Shape::block_rows];
  float part_max[Shape::block_rows];
  float part_sum[Shape::block_rows];
  float part_inverse[Shape::block_rows]; // 1 / part_sum
  int64_t group_offset[groups_per_part]; // where the first key of a group lies, bytes; for pages of whole groups
  int32_t pages[page_entries];           // the pages of the part; for other pages
  // Clusters of all parts: what the earlier parts left, in the block of the last.
  alignas(16) float2 partial_output[Shape::parts == 1 ? 1 : Shape::parts - 1][Shape::block_rows][Shape::columns / 2];
  float2 partial_state[Shape::parts == 1 ? 1 : Shape::parts - 1][Shape::block_rows]; // running reference and sum
  alignas(8) uint64_t full[Shape::stages];
  uint64_t empty[Shape::stages];
  uint64_t scores_arrived;                                           // cluster: the scores of all groups
  uint64_t partials_arrived;                                         // clusters of all parts
  uint64_t weights_written;                                          // and the sums and alphas of all tiles
  int32_t length[Shape::walks ? largest_walked_batch : 1];           // keys of each sequence
  int32_t parts_before[Shape::walks ? largest_walked_batch + 1 : 1]; // parts of all sequences before
  int32_t scan[16];
};

// Swizzle: eight consecutive rows of `Chunks` 16-byte chunks put the same chunk into eight different bank groups.
template <int Chunks>
__device__ __forceinline__ uint32_t chunk_offset(uint32_t row, uint32_t chunk) {
  uint32_t const swizzled = Chunks >= 8 ? chunk ^ (row & 7) : Chunks == 4 ? chunk ^ ((row >> 1) & 3) : chunk ^ ((row >> 2) & 1);
  return (row * Chunks + swizzled) * 16;
}

// A place in the ring of stages; every role walks it with its own.
template <class Shape>
struct RingPlace {
  uint32_t buffer = 0;
  uint32_t phase = 0;

  // At most `Shape::stages` steps.
  __device__ __forceinline__ void advance(uint32_t steps = 1) {
    buffer += steps;
    if (buffer >= Shape::stages) {
      buffer -= Shape::stages;
      phase ^= 1;
    }
  }
  __device__ __forceinline__ void advance_far(uint32_t steps) {
    buffer += steps;
    phase ^= buffer / Shape::stages & 1;
    buffer %= Shape::stages;
  }
};

// The work of one block: a part of one KV head of one sequence for one block of query rows.
struct Item {
  int sequence, head, row_block, part, rank;
  int rows;        // query rows of this block of rows
  int first_row;   // of the query rows of this KV head and sequence
  int query_token; // row of the queries where the sequence starts
  int first_seen;  // keys that the sequence's first query token sees
  int keys;        // keys of this part that the block's last row sees; not above 0 when there is nothing to do
  int parts;       // parts that the block's last row sees
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

// The number in its cluster of a block that shares an item of this part.
template <class Shape>
__device__ __forceinline__ uint32_t block_of(int part, int rank) {
  return Shape::parts > 1 ? part * Shape::cluster + rank : rank;
}

// How an item's keys fall into tiles, groups and stages.
template <class Shape>
struct Stages {
  int tiles;
  int own_groups; // groups of 16 keys whose scores this block computes
  int keys;       // stages of K
  int values;     // stages of V, which follow those of K

  __device__ __forceinline__ explicit Stages(int item_keys)
      : tiles((item_keys + tile_keys - 1) / tile_keys),
        own_groups(tiles * groups_per_tile / Shape::cluster),
        keys((own_groups + Shape::groups_per_stage - 1) / Shape::groups_per_stage),
        values((tiles * tile_keys + Shape::value_rows - 1) / Shape::value_rows) {}
};

} // namespace tik::attention::sm90
