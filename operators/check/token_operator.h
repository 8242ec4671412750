// An operator that treats every token alike, described so that one set of cases (token_cases.h) checks them all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operators/functions.h"

namespace tik::operators::check {

enum class Element { bf16, fp32, int32 };
inline constexpr std::size_t size_of(Element element) { return element == Element::bf16 ? 2 : 4; }

// One tensor of a call. Rows are [heads, columns] for each token; a tensor that all tokens share has `shared` set and one row.
struct Tensor {
  std::string name;
  Element element = Element::bf16;
  int heads = 1;
  int columns = 1;
  bool output = false;
  bool shared = false;
  // Inputs: the content of a token's row, [heads, columns] elements; a pure function of the token's number.
  std::function<void(int token, void* row)> content;

  std::size_t row_bytes() const { return size_of(element) * heads * columns; }
};

// Where the first token of a call finds a tensor.
struct Place {
  void* data = nullptr;
  std::int64_t token_stride = 0; // elements
  std::int64_t head_stride = 0;

  operator tik_rows() const { return {static_cast<tik_bf16 const*>(data), token_stride, head_stride}; }
  operator tik_mutable_rows() const { return {static_cast<tik_bf16*>(data), token_stride, head_stride}; }
  template <typename Number>
  Number* as() const {
    return static_cast<Number*>(data);
  }
};

class TokenOperator {
 public:
  virtual ~TokenOperator() = default;
  virtual std::string name() const = 0;  // "rms_norm"
  virtual std::string shape() const = 0; // "hidden 4096, residual"
  virtual std::vector<Tensor> const& tensors() const = 0;
  // Calls the operator for `tokens` tokens; places are in the order of tensors().
  virtual tik_status call(Functions const& functions, std::vector<Place> const& places, int tokens) const = 0;
  // Whether every backend gives the bits of the CPU backend.
  virtual bool same_bits_everywhere() const { return true; }
  // What each output of a token is in float64, in the order of the outputs, [heads, columns] each; empty for one without.
  virtual std::vector<std::vector<double>> exact(int token) const = 0;
  // The largest error allowed for an output, as a part of the largest magnitude of its row: half a step of bfloat16 and some
  // more.
  virtual double tolerance() const { return 0x1p-8 * 1.0625; }
};

using TokenOperators = std::vector<std::unique_ptr<TokenOperator>>;

} // namespace tik::operators::check
