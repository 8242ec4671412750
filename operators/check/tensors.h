// Tensors of the operators under check, and their content as float64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operators/check/source.h"
#include "operators/check/token_operator.h"

namespace tik::operators::check {

// Rows of bfloat16 numbers, a function of seed and token.
inline Tensor input(std::string name, int heads, int columns, std::uint64_t seed,
                    Distribution distribution = Distribution::normal) {
  int const elements = heads * columns;
  return {std::move(name), Element::bf16, heads, columns, false, false, [=](int token, void* row) {
            write_row(static_cast<tik_bf16*>(row), elements, seed, token, distribution);
          }};
}

// One row that all tokens share.
inline Tensor shared_input(std::string name, int columns, std::uint64_t seed) {
  Tensor tensor = input(std::move(name), 1, columns, seed);
  tensor.shared = true;
  return tensor;
}

inline Tensor output(std::string name, int heads, int columns, Element element = Element::bf16) {
  return {std::move(name), element, heads, columns, true, false, {}};
}

// One number a token.
inline Tensor number(std::string name, std::function<std::int32_t(int token)> of_token) {
  return {std::move(name), Element::int32, 1, 1, false, false, [=](int token, void* row) {
            *static_cast<std::int32_t*>(row) = of_token(token);
          }};
}

inline std::vector<double> to_doubles(std::vector<tik_bf16> const& row) {
  std::vector<double> values(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) values[i] = to_float(row[i]);
  return values;
}

// What a bfloat16 input holds for a token.
inline std::vector<double> content_of(Tensor const& tensor, int token) {
  std::vector<tik_bf16> row(static_cast<std::size_t>(tensor.heads) * tensor.columns);
  tensor.content(tensor.shared ? 0 : token, row.data());
  return to_doubles(row);
}

// Applies `function` to each head of `columns` numbers and joins what it returns.
template <typename Function>
std::vector<double> by_head(std::vector<double> const& heads, int columns, Function function) {
  std::vector<double> joined;
  for (auto first = heads.begin(); first != heads.end(); first += columns) {
    std::vector<double> const row = function(std::vector<double>(first, first + columns));
    joined.insert(joined.end(), row.begin(), row.end());
  }
  return joined;
}

} // namespace tik::operators::check
