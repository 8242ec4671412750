// Checks a request against contract.h before any work starts. Pure host code, shared by every backend.
#pragma once

#include "operators/swiglu/contract.h"
#include "operators/validate_rows.h"

namespace tik::operators::swiglu {

inline constexpr int32_t largest_columns = 65536;

inline std::optional<Refusal> validate_shape(int32_t tokens, int32_t columns) {
  using namespace validation;
  if (auto bad = check_range("tokens", tokens, 1, largest_tokens)) return bad;
  if (auto bad = check_columns(columns, largest_columns)) return bad;
  return check_elements(tokens, columns);
}

inline std::optional<Refusal> validate(tik_swiglu_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_swiglu", "tik_swiglu_args", args)) return bad;
  if (auto bad = validate_shape(args->tokens, args->columns)) return bad;
  RowsShape const shape{args->tokens, 1, args->columns};
  return first_of(
      {check_rows("gate", args->gate, shape), check_rows("up", args->up, shape), check_rows("out", args->out, shape)});
}

inline std::optional<Refusal> validate(tik_swiglu_backward_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_swiglu_backward", "tik_swiglu_backward_args", args)) return bad;
  if (auto bad = validate_shape(args->tokens, args->columns)) return bad;
  RowsShape const shape{args->tokens, 1, args->columns};
  return first_of({check_rows("gate", args->gate, shape), check_rows("up", args->up, shape),
                   check_rows("out_gradient", args->out_gradient, shape),
                   check_rows("gate_gradient", args->gate_gradient, shape),
                   check_rows("up_gradient", args->up_gradient, shape)});
}

} // namespace tik::operators::swiglu
