// Checks a request against contract.h before any work starts. Pure host code, shared by every backend.
#pragma once

#include <cfloat>

#include "operators/rms_norm/arithmetic.h"
#include "operators/rms_norm/contract.h"
#include "operators/validate_rows.h"

namespace tik::operators::rms_norm {

inline constexpr std::size_t workspace_alignment = 256;

// Refuses sizes and an epsilon outside the contract.
inline std::optional<Refusal> validate_shape(int32_t tokens, int32_t heads, int32_t columns, float epsilon) {
  using namespace validation;
  if (auto bad = check_row_counts(tokens, "heads", heads)) return bad;
  if (auto bad = check_columns(columns, largest_columns)) return bad;
  if (epsilon > 0 && epsilon <= FLT_MAX) return std::nullopt;
  return invalid("epsilon is ", epsilon, ", but must be finite and greater than 0, usually 1e-6.");
}

inline std::optional<Refusal> validate(tik_rms_norm_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_rms_norm", "tik_rms_norm_args", args)) return bad;
  if (auto bad = validate_shape(args->tokens, args->heads, args->columns, args->epsilon)) return bad;
  RowsShape const shape{args->tokens, args->heads, args->columns};
  if (auto bad = first_of({check_rows("x", args->x, shape), check_pointer("weight", args->weight, tensor_alignment),
                           check_rows("out", args->out, shape), check_range("weight_settled", args->weight_settled, 0, 1)})) {
    return bad;
  }
  if (args->residual.data == nullptr) return check_absent("sum.data", args->sum.data, "nothing is added without a residual");
  return first_of({check_rows("residual", args->residual, shape), check_rows("sum", args->sum, shape)});
}

// Blocks and spans of the weight's gradient (arithmetic.h).
inline int64_t weight_blocks(int64_t rows) { return (rows + block_rows - 1) / block_rows; }
inline int64_t weight_spans(int64_t rows) { return (weight_blocks(rows) + span_blocks - 1) / span_blocks; }

// Bytes of workspace of a backward call that wants weight_gradient.
inline int64_t backward_workspace_bytes(int32_t tokens, int32_t heads, int32_t columns) {
  return (weight_blocks(int64_t{tokens} * heads) + weight_spans(int64_t{tokens} * heads)) * columns *
         static_cast<int64_t>(sizeof(float));
}

inline std::optional<Refusal> validate(tik_rms_norm_backward_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_rms_norm_backward", "tik_rms_norm_backward_args", args)) return bad;
  if (auto bad = validate_shape(args->tokens, args->heads, args->columns, args->epsilon)) return bad;
  RowsShape const shape{args->tokens, args->heads, args->columns};
  if (auto bad = first_of({check_rows("x", args->x, shape), check_pointer("weight", args->weight, tensor_alignment),
                           check_rows("out_gradient", args->out_gradient, shape),
                           check_rows("x_gradient", args->x_gradient, shape)})) {
    return bad;
  }
  if (args->sum_gradient.data != nullptr) {
    if (auto bad = check_rows("sum_gradient", args->sum_gradient, shape)) return bad;
  }
  if (args->weight_gradient == nullptr) return std::nullopt;
  if (auto bad = check_pointer("weight_gradient", args->weight_gradient, tensor_alignment)) return bad;
  return check_workspace(args->workspace, args->workspace_bytes,
                         backward_workspace_bytes(args->tokens, args->heads, args->columns), workspace_alignment,
                         "tik_rms_norm_backward_workspace_bytes");
}

} // namespace tik::operators::rms_norm
