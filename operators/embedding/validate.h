// Checks a request against contract.h before any work starts. Pure host code, shared by every backend.
#pragma once

#include "operators/embedding/contract.h"
#include "operators/validate_rows.h"

namespace tik::operators::embedding {

inline constexpr int32_t largest_columns = 65536;

inline std::optional<Refusal> validate_shape(int32_t tokens, int32_t columns, int32_t vocabulary, int32_t const* ids) {
  using namespace validation;
  if (auto bad = first_of({check_range("tokens", tokens, 1, largest_tokens), check_columns(columns, largest_columns),
                           check_range("vocabulary", vocabulary, 1, largest_tokens)})) {
    return bad;
  }
  if (auto bad = check_elements(tokens, columns)) return bad;
  return check_pointer("ids", ids, alignof(int32_t));
}

inline std::optional<Refusal> validate(tik_embedding_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_embedding", "tik_embedding_args", args)) return bad;
  if (auto bad = validate_shape(args->tokens, args->columns, args->vocabulary, args->ids)) return bad;
  return first_of({check_rows("table", args->table, RowsShape{args->vocabulary, 1, args->columns}),
                   check_rows("out", args->out, RowsShape{args->tokens, 1, args->columns})});
}

inline std::optional<Refusal> validate(tik_embedding_backward_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_embedding_backward", "tik_embedding_backward_args", args)) return bad;
  if (auto bad = validate_shape(args->tokens, args->columns, args->vocabulary, args->ids)) return bad;
  return first_of({check_rows("out_gradient", args->out_gradient, RowsShape{args->tokens, 1, args->columns}),
                   check_pointer("table_gradient", args->table_gradient, tensor_alignment),
                   check_stride("table_gradient_stride", args->table_gradient_stride, args->columns)});
}

} // namespace tik::operators::embedding
