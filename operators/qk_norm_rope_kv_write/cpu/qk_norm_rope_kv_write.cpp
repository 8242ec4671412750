// QK-norm, RoPE and the write into the cache on CPUs, head by head through the functions of the three operators.
#include <algorithm>

#include "operators/cpu/backend.h"
#include "operators/functions.h"
#include "operators/kv_write/cpu/cache.h"
#include "operators/qk_norm_rope_kv_write/validate.h"
#include "operators/rms_norm/cpu/norm.h"

namespace tik::operators::cpu {
namespace {

void norm_and_rotate(tik_qk_norm_rope_kv_write_args const& args, tik_bf16 const* x, tik_bf16 const* weight, int32_t position,
                     tik_bf16* out) {
  if (weight) {
    Norm(args.head_dim, args.epsilon).normalize(x, weight, out);
    x = out;
  }
  rotate(x, args.table + int64_t{position} * args.head_dim, args.head_dim, false, out);
}

} // namespace

tik_status qk_norm_rope_kv_write(tik_qk_norm_rope_kv_write_args const* args) {
  if (auto bad = qk_norm_rope_kv_write::validate(args)) return Error::keep(std::move(bad));
  tik_kv_target const& target = args->target;
  if (auto bad = check_positions(target.positions, args->tokens, "table_positions", args->table_positions))
    return Error::keep(std::move(bad));
  if (auto bad = check_targets(target, args->tokens)) return Error::keep(std::move(bad));
  for (int32_t token = 0; token < args->tokens; ++token) {
    int32_t const position = target.positions[token];
    if (position < 0) continue;
    for (int64_t head = 0; head < args->query_heads; ++head) {
      norm_and_rotate(*args, row(args->queries, token, head), args->query_weight, position,
                      row(args->queries_out, token, head));
    }
    int64_t const offset = cache_offset(target, token);
    for (int64_t head = 0; head < args->kv_heads; ++head) {
      norm_and_rotate(*args, row(args->keys, token, head), args->key_weight, position, cached_keys(target, offset, head));
      std::copy_n(row(args->values, token, head), args->head_dim, cached_values(target, offset, head));
    }
  }
  return TIK_OK;
}

} // namespace tik::operators::cpu
