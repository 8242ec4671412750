// Checks a request against contract.h before any work starts. Pure host code, shared by every backend.
#pragma once

#include "operators/attention/validate.h"
#include "operators/kv_write/contract.h"
#include "operators/validate_rows.h"

namespace tik::operators::kv_write {

// Rows of the cache are written: those of the tokens and heads of a page, or of a contiguous sequence, must not overlap, nor
// pages or sequences.
inline std::optional<Refusal> check_apart(tik_kv_target const& target, int32_t kv_heads, int32_t head_dim) {
  tik_kv_view const& kv = target.kv;
  bool const paged = kv.layout == TIK_KV_PAGED;
  int64_t const tokens = paged ? kv.page_size : target.kv_length;
  int64_t const blocks = paged ? kv.page_count : target.batch;
  int64_t const over_tokens = (tokens - 1) * kv.token_stride;
  int64_t const over_heads = (kv_heads - 1) * kv.head_stride;
  bool const heads_inside_token = kv.token_stride >= over_heads + head_dim && (kv_heads == 1 || kv.head_stride >= head_dim);
  bool const tokens_inside_head = kv.head_stride >= over_tokens + head_dim && (tokens == 1 || kv.token_stride >= head_dim);
  if ((tokens > 1 || kv_heads > 1) && !heads_inside_token && !tokens_inside_head) {
    return validation::invalid("kv.token_stride ", kv.token_stride, " and kv.head_stride ", kv.head_stride,
                               " make the rows of ", kv_heads, " heads and ", tokens, " tokens of head_dim ", head_dim,
                               " overlap: for [token, head, dim] use ", int64_t{kv_heads} * head_dim, " and ", head_dim, ".");
  }
  int64_t const needed = over_tokens + over_heads + head_dim;
  int64_t const stride = paged ? kv.page_stride : kv.sequence_stride;
  if (blocks == 1 || stride >= needed) return std::nullopt;
  return validation::invalid(paged ? "kv.page_stride is " : "kv.sequence_stride is ", stride, ", but ", tokens, " tokens of ",
                             kv_heads, " heads reach over ", needed, " elements: one would overwrite the next.");
}

// Where tokens go; the lists of sequences, positions and pages may lie in device memory and are not read.
inline std::optional<Refusal> validate_target(char const* function, tik_kv_target const& target, int32_t tokens,
                                              int32_t kv_heads, int32_t head_dim) {
  using namespace validation;
  if (auto bad = first_of({check_range("target.batch", target.batch, 1, attention::largest_batch),
                           check_range("target.kv_length", target.kv_length, 1, largest_tokens),
                           check_range("target.settled", target.settled, 0, 1),
                           check_pointer("target.positions", target.positions, alignof(int32_t))})) {
    return bad;
  }
  if (target.sequences == nullptr && tokens > target.batch) {
    return invalid("tokens is ", tokens, ", more than target.batch ", target.batch,
                   ": without target.sequences token t belongs to sequence t.");
  }
  if (target.sequences != nullptr) {
    if (auto bad = check_pointer("target.sequences", target.sequences, alignof(int32_t))) return bad;
  }
  if (auto bad = attention::validation::check_cache(target.kv, function, target.batch, "target.kv_length", target.kv_length))
    return bad;
  return check_apart(target, kv_heads, head_dim);
}

inline std::optional<Refusal> validate(tik_kv_write_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_kv_write", "tik_kv_write_args", args)) return bad;
  if (auto bad = first_of({check_row_counts(args->tokens, "kv_heads", args->kv_heads), check_head_dim(args->head_dim)}))
    return bad;
  RowsShape const shape{args->tokens, args->kv_heads, args->head_dim};
  if (auto bad = first_of({check_rows("keys", args->keys, shape), check_rows("values", args->values, shape)})) return bad;
  return validate_target("tik_kv_write", args->target, args->tokens, args->kv_heads, args->head_dim);
}

} // namespace tik::operators::kv_write
