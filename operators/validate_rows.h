// Checks of rows (rows.h), shared by the operators that take them.
#pragma once

#include <string>

#include "operators/row_sum.h"
#include "operators/rows.h"
#include "operators/validation.h"

namespace tik::operators {

// Tokens, heads and columns of a tensor of rows.
struct RowsShape {
  int64_t tokens;
  int64_t heads;
  int64_t columns;
};

// Bounds that keep the numbers of rows, of chunks of rows and of threads within 31 bits.
inline constexpr int32_t largest_tokens = 1 << 24;
inline constexpr int32_t largest_heads = 1024;
inline constexpr int64_t largest_rows = int64_t{1} << 27;

namespace validation {

// Tokens and heads of a call, whose product stays within 31 bits.
inline std::optional<Refusal> check_row_counts(int32_t tokens, char const* heads_name, int32_t heads) {
  if (auto bad =
          first_of({check_range("tokens", tokens, 1, largest_tokens), check_range(heads_name, heads, 1, largest_heads)})) {
    return bad;
  }
  if (int64_t{tokens} * heads <= largest_rows) return std::nullopt;
  return invalid("tokens ", tokens, " and ", heads_name, " ", heads, " make ", int64_t{tokens} * heads, " rows, but at most ",
                 largest_rows, " are allowed: split the call over its tokens.");
}

inline std::optional<Refusal> check_columns(int32_t columns, int32_t largest) {
  if (columns >= chunk_columns && columns <= largest && columns % chunk_columns == 0) return std::nullopt;
  return invalid("columns is ", columns, ", but must be a multiple of ", chunk_columns, " from ", chunk_columns, " to ",
                 largest, ".");
}

// Chunks of a call are numbered within 31 bits.
inline std::optional<Refusal> check_elements(int32_t tokens, int32_t columns) {
  int64_t const largest = (int64_t{1} << 30) * chunk_columns;
  if (int64_t{tokens} * columns <= largest) return std::nullopt;
  return invalid("tokens ", tokens, " and columns ", columns, " make ", int64_t{tokens} * columns, " elements, but at most ",
                 largest, " are allowed: split the call over its tokens.");
}

inline std::optional<Refusal> check_head_dim(int32_t head_dim) {
  if (head_dim == 64 || head_dim == 128) return std::nullopt;
  return invalid("head_dim is ", head_dim, ", but must be 64 or 128.");
}

// Rows that are read may overlap, even be one row that every token shares (stride 0).
inline std::optional<Refusal> check_rows(std::string const& name, tik_rows const& rows, RowsShape const& shape) {
  if (auto bad = check_pointer((name + ".data").c_str(), rows.data, tensor_alignment)) return bad;
  if (auto bad = check_stride((name + ".token_stride").c_str(), rows.token_stride, 0)) return bad;
  return shape.heads == 1 ? std::nullopt : check_stride((name + ".head_stride").c_str(), rows.head_stride, 0);
}

// Rows that are written: no two of them share memory, so one stride must step over all that the other covers.
inline std::optional<Refusal> check_rows(std::string const& name, tik_mutable_rows const& rows, RowsShape const& shape) {
  if (auto bad = check_rows(name, tik_rows{rows.data, rows.token_stride, rows.head_stride}, shape)) return bad;
  bool const one_head = shape.heads == 1;
  bool const apart =
      (shape.tokens == 1 || rows.token_stride >= shape.columns) && (one_head || rows.head_stride >= shape.columns);
  bool const heads_inside_token = one_head || rows.token_stride >= (shape.heads - 1) * rows.head_stride + shape.columns;
  bool const tokens_inside_head = !one_head && rows.head_stride >= (shape.tokens - 1) * rows.token_stride + shape.columns;
  if (apart && (shape.tokens == 1 || heads_inside_token || tokens_inside_head)) return std::nullopt;
  return invalid(name, ".token_stride ", rows.token_stride, one_head ? "" : " and head_stride ",
                 one_head ? Piece("") : Piece(rows.head_stride), " make the rows of ", shape.tokens, " tokens, ", shape.heads,
                 " heads and ", shape.columns, " columns overlap: without gaps they are ", shape.heads * shape.columns, " and ",
                 shape.columns, ".");
}

} // namespace validation
} // namespace tik::operators
