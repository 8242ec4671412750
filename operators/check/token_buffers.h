// The tensors of a token-wise operator in device memory, under a layout, with poison wherever nothing belongs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operators/check/device.h"
#include "operators/check/token_operator.h"

namespace tik::operators::check {

// How the rows of every tensor lie. Gaps count elements, multiples of 8.
struct Layout {
  int gap = 0;              // between tokens
  bool heads_first = false; // [heads, tokens, columns] instead of [tokens, heads, columns]
};
std::string describe(Layout const& layout);

// The rows of one tensor, by token number.
using Rows = std::vector<std::vector<unsigned char>>;

class TokenBuffers {
 public:
  // Slot i of every tensor belongs to token tokens[i]. Inputs are written at once.
  TokenBuffers(Device& device, TokenOperator const& checked, Layout const& layout, std::vector<int> tokens);

  // Poisons the outputs and calls the operator for `count` slots from `first`. Not TIK_OK: nothing ran.
  tik_status run(int first, int count);

  // What is wrong after run(first, count): outputs other than `expected` (a Rows for each output), or anything else written.
  // Empty when all is as it should be.
  std::string compare(std::vector<Rows> const& expected, int first, int count);

  // Calls the operator for one slot and returns its row of each output.
  std::vector<std::vector<unsigned char>> run_alone(int slot);

  // What is wrong with the inputs, which no call may change; empty when nothing is.
  std::string compare_inputs();

 private:
  struct Held {
    Tensor const* tensor;
    std::int64_t token_stride; // elements
    std::int64_t head_stride;
    std::vector<unsigned char> image;  // what the memory should hold; of outputs all poison, but for rows under comparison
    std::vector<unsigned char> actual; // what it holds, kept because fresh memory for every comparison costs more than the copy
    Allocation memory;
  };
  unsigned char* place(Held const& held, int slot, int head) const;
  tik_status call(int first, int count) const;
  // Writes a slot's row into the image; NULL: poison.
  void copy_row(Held& held, int slot, unsigned char const* row) const;
  // Whether the memory holds the image; says where it does not.
  std::string difference(Held& held) const;

  Device& device_;
  TokenOperator const& checked_;
  std::vector<int> tokens_;
  std::vector<Held> held_;
};

} // namespace tik::operators::check
