// Where a token lies in the cache, for every operator of the CPU backend that writes there.
#pragma once

#include "operators/kv_write/contract.h"
#include "operators/rotary/cpu/rotate.h"
#include "operators/validation.h"

namespace tik::operators::cpu {

inline int32_t sequence_of(tik_kv_target const& target, int32_t token) {
  return target.sequences ? target.sequences[token] : token;
}

inline int32_t page_of(tik_kv_target const& target, int32_t token) {
  int64_t const line = int64_t{sequence_of(target, token)} * target.kv.page_table_stride;
  return target.kv.page_table[line + target.positions[token] / target.kv.page_size];
}

// Refuses tokens without a place: what validate() does not read because it may lie on a device.
inline std::optional<Refusal> check_targets(tik_kv_target const& target, int32_t tokens) {
  if (auto bad = check_positions(target.positions, tokens, "target.kv_length", target.kv_length)) return bad;
  for (int32_t token = 0; token < tokens; ++token) {
    if (target.positions[token] < 0) continue;
    int32_t const sequence = sequence_of(target, token);
    if (sequence < 0 || sequence >= target.batch) {
      return validation::invalid("target.sequences[", token, "] is ", sequence, ", but sequences are 0 to ", target.batch - 1,
                                 ".");
    }
    if (target.kv.layout != TIK_KV_PAGED) continue;
    if (int32_t const page = page_of(target, token); page < 0 || page >= target.kv.page_count) {
      return validation::invalid("kv.page_table[", sequence, ", ", target.positions[token] / target.kv.page_size, "] is ", page,
                                 ", but pages are 0 to ", target.kv.page_count - 1, ".");
    }
  }
  return std::nullopt;
}

// The first element of a token's rows in the cache; its position is not negative.
inline int64_t cache_offset(tik_kv_target const& target, int32_t token) {
  tik_kv_view const& kv = target.kv;
  int64_t const position = target.positions[token];
  if (kv.layout == TIK_KV_CONTIGUOUS) return sequence_of(target, token) * kv.sequence_stride + position * kv.token_stride;
  return page_of(target, token) * kv.page_stride + position % kv.page_size * kv.token_stride;
}

inline tik_bf16* cached_keys(tik_kv_target const& target, int64_t offset, int64_t head) {
  return const_cast<tik_bf16*>(target.kv.keys) + offset + head * target.kv.head_stride;
}
inline tik_bf16* cached_values(tik_kv_target const& target, int64_t offset, int64_t head) {
  return const_cast<tik_bf16*>(target.kv.values) + offset + head * target.kv.head_stride;
}

} // namespace tik::operators::cpu
