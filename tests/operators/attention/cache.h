// A key/value cache that sequences grow into, contiguous or paged. Whatever holds no token yet is NaN, and pages are handed out
// in random order.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "tests/operators/attention/trajectory.h"

namespace tik::attention::testing {

class Cache {
 public:
  // page_size 0: contiguous, with room for `capacity` tokens a sequence.
  Cache(Heads heads, int sequences, int capacity, int page_size, unsigned seed)
      : heads_(heads), capacity_(capacity), page_size_(page_size), lengths_(sequences, 0) {
    int const width = heads.kv_heads * heads.head_dim;
    int64_t rows = int64_t(sequences) * (capacity + slack);
    if (page_size > 0) {
      pages_a_sequence_ = (capacity + page_size - 1) / page_size;
      free_.resize(sequences * pages_a_sequence_ + slack);
      std::iota(free_.begin(), free_.end(), 0);
      std::mt19937 random(seed);
      std::shuffle(free_.begin(), free_.end(), random);
      page_count_ = static_cast<int>(free_.size());
      page_table_.assign(sequences * pages_a_sequence_, -1); // an entry that is read too early is refused
      rows = int64_t(page_count_) * page_size;
    }
    keys_.assign(rows * width, nan_bf16);
    values_.assign(rows * width, nan_bf16);
  }

  void append(int sequence, Trajectory const& trajectory) {
    int const token = lengths_[sequence]++;
    int const width = heads_.kv_heads * heads_.head_dim;
    int64_t const row = row_of(sequence, token);
    std::copy_n(trajectory.keys.begin() + int64_t(token) * width, width, keys_.begin() + row * width);
    std::copy_n(trajectory.values.begin() + int64_t(token) * width, width, values_.begin() + row * width);
  }

  int length(int sequence) const { return lengths_[sequence]; }
  int capacity() const { return capacity_; }

  tik_kv_view view() const {
    int64_t const width = heads_.kv_heads * heads_.head_dim;
    tik_kv_view view{};
    view.layout = page_size_ > 0 ? TIK_KV_PAGED : TIK_KV_CONTIGUOUS;
    view.keys = keys_.data();
    view.values = values_.data();
    view.token_stride = width;
    view.head_stride = heads_.head_dim;
    view.sequence_stride = (capacity_ + slack) * width;
    if (page_size_ > 0) {
      view.page_size = page_size_;
      view.page_stride = page_size_ * width;
      view.page_table = page_table_.data();
      view.page_table_stride = pages_a_sequence_;
      view.page_count = page_count_;
    }
    return view;
  }

 private:
  static constexpr int slack = 3; // tokens or pages that nobody owns

  int64_t row_of(int sequence, int token) {
    if (page_size_ == 0) return int64_t(sequence) * (capacity_ + slack) + token;
    int32_t& page = page_table_[sequence * pages_a_sequence_ + token / page_size_];
    if (page < 0) {
      page = free_.back();
      free_.pop_back();
    }
    return int64_t(page) * page_size_ + token % page_size_;
  }

  Heads heads_;
  int capacity_;
  int page_size_;
  int pages_a_sequence_ = 0;
  int page_count_ = 0;
  std::vector<int32_t> free_, page_table_, lengths_;
  std::vector<tik_bf16> keys_, values_;
};

} // namespace tik::attention::testing
