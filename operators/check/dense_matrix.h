// A matrix in the memory of a device under check, with poison wherever nothing belongs.
#pragma once

#include <cstdint>
#include <cstring>

#include "operators/check/device.h"
#include "operators/check/source.h"

namespace tik::operators::check {

// [rows, columns] of `Number`, rows `stride` elements apart, and a poisoned row behind the last.
template <typename Number>
class Matrix {
 public:
  Matrix(Device& device, int rows, int columns, int gap)
      : rows_(rows),
        columns_(columns),
        stride_(columns + gap),
        memory_(device, static_cast<std::size_t>(rows + 1) * stride_ * sizeof(Number)) {
    memory_.poison();
  }

  Number* row(int index) const { return static_cast<Number*>(memory_.memory()) + std::int64_t{index} * stride_; }
  std::int64_t stride() const { return stride_; }
  void poison() { memory_.poison(); }

  // Writes the rows, row i as content(i), a vector of `columns` numbers.
  template <typename Content>
  void write(Content content) {
    std::vector<unsigned char> image(memory_.bytes(), poison_byte);
    for (int i = 0; i < rows_; ++i) {
      std::vector<Number> const row = content(i);
      std::memcpy(&image[static_cast<std::size_t>(i) * stride_ * sizeof(Number)], row.data(), columns_ * sizeof(Number));
    }
    memory_.upload(image);
  }

  // The bytes of every row, gaps and the row behind the last included.
  struct Image {
    std::vector<unsigned char> bytes;
    std::size_t row_bytes;     // with its gap
    std::size_t content_bytes; // without

    unsigned char const* row(int index) const { return &bytes[static_cast<std::size_t>(index) * row_bytes]; }
    Number number(int index, int column) const {
      Number value;
      std::memcpy(&value, row(index) + static_cast<std::size_t>(column) * sizeof(Number), sizeof(Number));
      return value;
    }
  };
  Image download() const { return {memory_.download(), stride_ * sizeof(Number), columns_ * sizeof(Number)}; }

  // What is wrong with the rows, empty when nothing is: rows first..first + count - 1 must be those of `expected`, with
  // number_of(i) telling which, and every other byte poison.
  template <typename NumberOf>
  std::string compare(Image const& expected, int first, int count, NumberOf number_of) const {
    Image const actual = download();
    for (int i = 0; i <= rows_; ++i) {
      bool const written = i >= first && i < first + count;
      std::size_t at = 0;
      if (written) {
        if (std::memcmp(actual.row(i), expected.row(number_of(i)), actual.content_bytes) != 0)
          return differs(i, "has other bits");
        at = actual.content_bytes;
      }
      for (; at < actual.row_bytes; ++at) {
        if (actual.row(i)[at] != poison_byte) return differs(i, written ? "is written behind its end" : "is written");
      }
    }
    return "";
  }

 private:
  static std::string differs(int row, char const* how) { return "row " + std::to_string(row) + " " + how; }

  int rows_, columns_;
  std::int64_t stride_;
  Allocation memory_;
};

inline std::vector<tik_bf16> random_row(int columns, std::uint64_t seed, int index, float scale = 1) {
  std::vector<tik_bf16> row(columns);
  write_row(row.data(), columns, seed, index, Distribution::normal, scale);
  return row;
}

// The sizes that dense cases go through.
struct DenseExtent {
  int alone;              // tokens that are also computed alone
  int count_step;         // every such number of tokens up to there
  std::vector<int> large; // numbers of tokens around those where another kernel or algorithm takes over
  int windows;
  int repeats;
  int accurate;
};
inline DenseExtent dense_extent(Extent extent) {
  switch (extent) {
    case Extent::tiny:
      return {3, 1, {}, 1, 1, 1};
    case Extent::brief:
      return {70, 9, {127, 129, 300}, 3, 3, 2};
    case Extent::thorough:
      return {300, 1, {383, 384, 385, 511, 513, 767, 769, 1023, 1025, 2047, 2049, 4095, 4097}, 12, 30, 3};
  }
  return {};
}

} // namespace tik::operators::check
