// Writing keys and values into the cache on CPUs.
#include <algorithm>

#include "operators/cpu/backend.h"
#include "operators/functions.h"
#include "operators/kv_write/cpu/cache.h"
#include "operators/kv_write/validate.h"

namespace tik::operators::cpu {

tik_status kv_write(tik_kv_write_args const* args) {
  if (auto bad = kv_write::validate(args)) return Error::keep(std::move(bad));
  if (auto bad = check_targets(args->target, args->tokens)) return Error::keep(std::move(bad));
  for (int32_t token = 0; token < args->tokens; ++token) {
    if (args->target.positions[token] < 0) continue;
    int64_t const offset = cache_offset(args->target, token);
    for (int64_t head = 0; head < args->kv_heads; ++head) {
      std::copy_n(row(args->keys, token, head), args->head_dim, cached_keys(args->target, offset, head));
      std::copy_n(row(args->values, token, head), args->head_dim, cached_values(args->target, offset, head));
    }
  }
  return TIK_OK;
}

} // namespace tik::operators::cpu
