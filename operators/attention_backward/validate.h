// Checks a request against contract.h before any work starts. Pure host code, shared by every backend. Offsets may lie in
// device memory: they are not read here.
#pragma once

#include "operators/attention/validate.h"
#include "operators/attention_backward/contract.h"
#include "operators/validate_rows.h"

namespace tik::operators::attention_backward {

inline constexpr std::size_t workspace_alignment = 256;

// Two numbers a query row: its log-sum-exp in the scale of exponents of two, and <out_gradient, out>.
inline int64_t workspace_bytes(int32_t tokens, int32_t query_heads) {
  return 2 * int64_t{tokens} * query_heads * static_cast<int64_t>(sizeof(float));
}

inline std::optional<Refusal> check_tensors(tik_attention_full_backward_args const& args) {
  using namespace validation;
  RowsShape const queries{args.tokens, args.shape.query_heads, args.shape.head_dim};
  RowsShape const keys{args.tokens, args.shape.kv_heads, args.shape.head_dim};
  return first_of(
      {check_pointer("query_offsets", args.query_offsets, alignof(int32_t)), check_rows("queries", args.queries, queries),
       check_rows("keys", args.keys, keys), check_rows("values", args.values, keys), check_rows("out", args.out, queries),
       check_pointer("lse", args.lse, alignof(float)), check_rows("out_gradient", args.out_gradient, queries),
       check_rows("query_gradient", args.query_gradient, queries), check_rows("key_gradient", args.key_gradient, keys),
       check_rows("value_gradient", args.value_gradient, keys)});
}

inline std::optional<Refusal> validate(tik_attention_full_backward_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_attention_full_backward", "tik_attention_full_backward_args", args)) return bad;
  if (auto bad = attention::validate_shape(args->shape)) return bad;
  if (auto bad = first_of({check_range("batch", args->batch, 1, attention::largest_batch),
                           check_range("tokens", args->tokens, 1, attention::largest_tokens),
                           check_range("longest", args->longest, 1, args->tokens)})) {
    return bad;
  }
  if (auto bad = check_tensors(*args)) return bad;
  return check_workspace(args->workspace, args->workspace_bytes, workspace_bytes(args->tokens, args->shape.query_heads),
                         workspace_alignment, "tik_attention_full_backward_workspace_bytes");
}

} // namespace tik::operators::attention_backward
