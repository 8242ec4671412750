// Where the keys and values of a sequence lie, and the tile of them that the arithmetic reads.
#pragma once

#include <cstdint>

#include "numerics.h"
#include "operators/attention/contract.h"

namespace tik::attention::cpu {

inline int smaller(int a, int b) { return a < b ? a : b; }

// The keys and values of one sequence and one key/value head, by token.
class CachedSequence {
 public:
  CachedSequence(tik_attention_args const& args, int sequence, int kv_head)
      : keys_(args.kv.keys + kv_head * args.kv.head_stride),
        values_(args.kv.values + kv_head * args.kv.head_stride),
        token_stride_(args.kv.token_stride),
        page_stride_(args.kv.page_stride),
        page_size_(args.kv.layout == TIK_KV_PAGED ? args.kv.page_size : 0) {
    if (args.kv.layout == TIK_KV_PACKED) first_ = int64_t{args.query_offsets[sequence]} * token_stride_;
    if (args.kv.layout == TIK_KV_CONTIGUOUS) first_ = sequence * args.kv.sequence_stride;
    if (args.kv.layout == TIK_KV_PAGED) pages_ = args.kv.page_table + int64_t{sequence} * args.kv.page_table_stride;
  }

  tik_bf16 const* key(int token) const { return keys_ + offset(token); }
  tik_bf16 const* value(int token) const { return values_ + offset(token); }

 private:
  int64_t offset(int token) const {
    if (page_size_ == 0) return first_ + token * token_stride_;
    return pages_[token / page_size_] * page_stride_ + (token % page_size_) * token_stride_;
  }

  tik_bf16 const* keys_;
  tik_bf16 const* values_;
  int64_t token_stride_;
  int64_t page_stride_;
  int page_size_; // 0 when the tokens lie at one stride
  int64_t first_ = 0;
  int32_t const* pages_ = nullptr;
};

// Keys and values where they lie in the cache.
template <int HeadDim, int Keys = tile_keys>
struct Tile {
  static constexpr int size = Keys;
  tik_bf16 const* keys[Keys];
  tik_bf16 const* values[Keys];
};

// Fills the first `count` rows of a tile from the tokens at `first` and after.
template <int HeadDim, int Keys>
void load_tile(Tile<HeadDim, Keys>& tile, CachedSequence const& cache, int first, int count) {
  for (int j = 0; j < count; ++j) {
    tile.keys[j] = cache.key(first + j);
    tile.values[j] = cache.value(first + j);
  }
}

} // namespace tik::attention::cpu
