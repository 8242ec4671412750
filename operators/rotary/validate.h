// Checks a request against contract.h before any work starts. Pure host code, shared by every backend.
#pragma once

#include <cmath>

#include "operators/rotary/contract.h"
#include "operators/validate_rows.h"

namespace tik::operators::rotary {

inline std::optional<Refusal> validate_yarn(tik_rotary_table_args const& args) {
  using namespace validation;
  if (!(args.factor >= 1 && std::isfinite(args.factor)))
    return invalid("factor is ", args.factor, ", but must be finite and at least 1.");
  if (auto bad = check_range("original_positions", args.original_positions, 1, largest_tokens)) return bad;
  if (!(args.beta_slow > 0 && args.beta_fast > args.beta_slow && std::isfinite(args.beta_fast))) {
    return invalid("beta_fast ", args.beta_fast, " and beta_slow ", args.beta_slow,
                   " must be finite, with beta_fast > beta_slow > 0, usually 32 and 1.");
  }
  if (args.attention_factor >= 0 && std::isfinite(args.attention_factor)) return std::nullopt;
  return invalid("attention_factor is ", args.attention_factor,
                 ", but must be finite and greater than 0, or 0 for the usual one.");
}

inline std::optional<Refusal> validate(tik_rotary_table_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_rotary_table", "tik_rotary_table_args", args)) return bad;
  if (auto bad = first_of({check_range("positions", args->positions, 1, largest_tokens), check_head_dim(args->head_dim)}))
    return bad;
  if (!(args->base > 1 && std::isfinite(args->base)))
    return invalid("base is ", args->base, ", but must be finite and greater than 1, as the model's rope_theta.");
  if (auto bad = check_range("scaling", args->scaling, TIK_ROTARY_UNSCALED, TIK_ROTARY_YARN)) return bad;
  if (args->scaling == TIK_ROTARY_YARN) {
    if (auto bad = validate_yarn(*args)) return bad;
  }
  return check_pointer("table", args->table, alignof(float));
}

// What every operator that rotates takes.
inline std::optional<Refusal> validate_table(float const* table, int32_t table_positions, int32_t const* positions) {
  using namespace validation;
  return first_of({check_range("table_positions", table_positions, 1, largest_tokens),
                   check_pointer("table", table, tensor_alignment), check_pointer("positions", positions, alignof(int32_t))});
}

inline std::optional<Refusal> validate(tik_rotary_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_rotary", "tik_rotary_args", args)) return bad;
  if (auto bad = first_of({check_row_counts(args->tokens, "query_heads", args->query_heads),
                           check_range("key_heads", args->key_heads, 0, largest_heads), check_head_dim(args->head_dim),
                           check_range("inverse", args->inverse, 0, 1), check_range("settled", args->settled, 0, 1)})) {
    return bad;
  }
  if (auto bad = check_row_counts(args->tokens, "query_heads + key_heads", args->query_heads + args->key_heads)) return bad;
  if (auto bad = validate_table(args->table, args->table_positions, args->positions)) return bad;
  RowsShape const queries{args->tokens, args->query_heads, args->head_dim};
  if (auto bad =
          first_of({check_rows("queries", args->queries, queries), check_rows("queries_out", args->queries_out, queries)}))
    return bad;
  if (args->key_heads == 0) return std::nullopt;
  RowsShape const keys{args->tokens, args->key_heads, args->head_dim};
  return first_of({check_rows("keys", args->keys, keys), check_rows("keys_out", args->keys_out, keys)});
}

} // namespace tik::operators::rotary
