// One step of a model between the projections and attention, in device memory: queries, keys and values of new tokens, and the
// cache that keys and values are written into, by the fused operator or by the separate ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operators/check/device.h"

namespace tik::operators::check {

struct CacheShape {
  int query_heads, kv_heads, head_dim;
  bool norm; // QK-norm
};
std::string describe(CacheShape const& shape);

struct CacheLayout {
  int page_size = 0;        // 0: contiguous
  bool heads_first = false; // [head, token] inside a page or sequence instead of [token, head]
  int gap = 0;              // elements between tokens of the inputs and of the cache
};
std::string describe(CacheLayout const& layout);

// What a call wrote, all of it: the cache with whatever was there before, and the queries with poison around them.
struct CacheImage {
  std::vector<unsigned char> keys, values, queries;
};

inline constexpr int table_positions = 2048; // of the rotation: no sequence is longer

class CacheBuffers {
 public:
  // `tokens` new tokens, some of them padding, at different places of `batch` sequences of up to `length` tokens, chosen by
  // `seed`. decode: token t belongs to sequence t, and no list of sequences is passed; then tokens is batch.
  CacheBuffers(Device& device, CacheShape const& shape, CacheLayout const& layout, int tokens, int batch, int length,
               bool decode, std::uint64_t seed);

  // Each starts from the same cache. Throws std::runtime_error when a call is refused.
  CacheImage run_fused();
  CacheImage run_separate();

 private:
  tik_kv_target target() const;
  void reset();
  void require(tik_status status) const;
  CacheImage image() const;

  Device& device_;
  CacheShape shape_;
  CacheLayout layout_;
  int tokens_, batch_, length_, pages_a_sequence_, page_count_;
  bool decode_;
  std::vector<unsigned char> cache_before_;
  Allocation queries_, keys_, values_, query_weight_, key_weight_, table_, positions_, sequences_, page_table_;
  Allocation cache_keys_, cache_values_, queries_out_, rotated_keys_;
};

} // namespace tik::operators::check
