// Checks a request against contract.h before any work starts. Pure host code, shared by every backend.
#pragma once

#include <cfloat>

#include "operators/kv_write/validate.h"
#include "operators/qk_norm_rope_kv_write/contract.h"
#include "operators/rotary/validate.h"

namespace tik::operators::qk_norm_rope_kv_write {

inline std::optional<Refusal> validate_norm(tik_qk_norm_rope_kv_write_args const& args) {
  using namespace validation;
  if (args.query_weight == nullptr && args.key_weight == nullptr) return std::nullopt;
  if (auto bad = first_of({check_pointer("query_weight", args.query_weight, tensor_alignment),
                           check_pointer("key_weight", args.key_weight, tensor_alignment)})) {
    return bad;
  }
  if (args.epsilon > 0 && args.epsilon <= FLT_MAX) return std::nullopt;
  return invalid("epsilon is ", args.epsilon, ", but must be finite and greater than 0, usually 1e-6.");
}

inline std::optional<Refusal> validate(tik_qk_norm_rope_kv_write_args const* args) {
  using namespace validation;
  char const* const function = "tik_qk_norm_rope_kv_write";
  if (auto bad = check_args(function, "tik_qk_norm_rope_kv_write_args", args)) return bad;
  if (auto bad = first_of({check_row_counts(args->tokens, "query_heads", args->query_heads),
                           check_range("kv_heads", args->kv_heads, 1, largest_heads), check_head_dim(args->head_dim)})) {
    return bad;
  }
  if (auto bad = check_row_counts(args->tokens, "query_heads + 2 kv_heads", args->query_heads + 2 * args->kv_heads)) return bad;
  RowsShape const queries{args->tokens, args->query_heads, args->head_dim};
  RowsShape const keys{args->tokens, args->kv_heads, args->head_dim};
  if (auto bad = first_of({check_rows("queries", args->queries, queries), check_rows("keys", args->keys, keys),
                           check_rows("values", args->values, keys), check_rows("queries_out", args->queries_out, queries)})) {
    return bad;
  }
  if (auto bad = validate_norm(*args)) return bad;
  if (auto bad = kv_write::validate_target(function, args->target, args->tokens, args->kv_heads, args->head_dim)) return bad;
  return rotary::validate_table(args->table, args->table_positions, args->target.positions);
}

} // namespace tik::operators::qk_norm_rope_kv_write
