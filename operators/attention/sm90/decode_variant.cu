#include <algorithm>

#include "operators/attention/sm90/decode_params.h"
#include "operators/attention/sm90/decode_variant.h"
#include "operators/attention/sm90/dispatch.h"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::attention::sm90 {
namespace {

// Stages that leave room for two blocks on a multiprocessor, and as many as one block has room for.
constexpr int stages_of_two = 4;
constexpr int stages_of_one = 8;
DecodeVariant tile(int splits, int row_blocks) { return {splits, 0, 1, row_blocks, 0}; }
DecodeVariant clusters(int cluster, int parts, int row_blocks, int stages) { return {0, cluster, parts, row_blocks, stages}; }
DecodeVariant walk(int row_blocks) { return clusters(1, 1, row_blocks, stages_of_walk(row_blocks)); }

int largest_cluster(tik_attention_shape const& shape) { return shape.head_dim / 16; } // a warp computes 16 columns
int largest_splits(tik_attention_shape const& shape) { return shape.head_dim / 32; }
bool one_tile(tik_attention_limits const& limits, bool extends) { return limits.kv_length <= tile_keys && !extends; }

// Parts of a cluster that has all of `parts`, or 1.
int parts_of_cluster(int parts) { return parts == 2 ? 2 : parts == 3 || parts == 4 ? 4 : 1; }

} // namespace

DecodeGrid decode_grid(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  DecodeGrid grid{};
  grid.rows = limits.query_length * (shape.query_heads / shape.kv_heads);
  grid.block_rows = grid.rows <= 8 ? 8 : 16;
  grid.row_blocks = (grid.rows + grid.block_rows - 1) / grid.block_rows;
  grid.parts = std::max(1, (limits.kv_length + part_keys - 1) / part_keys);
  return grid;
}

DecodeVariant choose_decode(tik_attention_shape const& shape, tik_attention_limits const& limits, int batch, bool extends) {
  DecodeGrid const grid = decode_grid(shape, limits);
  int const row_blocks = grid.block_rows / 8;
  int64_t const heads = int64_t{batch} * shape.kv_heads * grid.row_blocks; // of all sequences
  int64_t const items = heads * grid.parts;
  // All bounds were measured on an H200.
  if (one_tile(limits, extends)) {
    return tile(std::min(heads <= 8 ? 2 : 1, largest_splits(shape)), row_blocks);
  }
  // Clusters of 8 run at once up to 15, with one block a multiprocessor.
  int const parts = parts_of_cluster(grid.parts);
  if (parts > 1 && heads <= 15 && 8 / parts <= largest_cluster(shape))
    return clusters(8 / parts, parts, row_blocks, stages_of_one);
  // Few items: clusters that all run at once with one block a multiprocessor (30 of 4, 66 of 2), then with two. Many: blocks
  // alone, one a multiprocessor, which walk over them. Clusters of 8 (15 at once) send more than they save, unless there is
  // twice as much to compute.
  if (items > multiprocessors && batch <= largest_walked_batch) return walk(row_blocks);
  int const cluster = std::min(items <= 15 && row_blocks == 2 ? 8 : items <= 30 ? 4 : 2, largest_cluster(shape));
  bool const one_block = items * cluster <= multiprocessors || row_blocks > 1;
  return clusters(cluster, 1, row_blocks, one_block ? stages_of_one : stages_of_two);
}

std::vector<DecodeVariant> decode_variants(tik_attention_shape const& shape, tik_attention_limits const& limits, bool extends) {
  DecodeGrid const grid = decode_grid(shape, limits);
  int const row_blocks = grid.block_rows / 8;
  std::vector<DecodeVariant> variants;
  if (one_tile(limits, extends)) {
    for (int splits = 1; splits <= largest_splits(shape); splits *= 2) variants.push_back(tile(splits, row_blocks));
  }
  if (limits.batch <= largest_walked_batch) variants.push_back(walk(row_blocks));
  for (int cluster = 2; cluster <= largest_cluster(shape); cluster *= 2) {
    variants.push_back(clusters(cluster, 1, row_blocks, stages_of_one));
    if (row_blocks == 1) variants.push_back(clusters(cluster, 1, row_blocks, stages_of_two));
  }
  for (int parts = 2; parts <= 4; parts *= 2) {
    if (parts >= grid.parts && 8 / parts <= largest_cluster(shape)) {
      variants.push_back(clusters(8 / parts, parts, row_blocks, stages_of_one));
    }
  }
  return variants;
}

} // namespace tik::attention::sm90
