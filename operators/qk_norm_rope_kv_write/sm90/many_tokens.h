// How the fused step of many tokens is cut into blocks: chosen from the number of tokens alone, or given by tests and benches.
#pragma once

#include "operators/qk_norm_rope_kv_write/contract.h"

namespace tik::operators::sm90 {

struct ManyTokensCut {
  int most_threads; // of a block, which has as many tokens at once as fit: 1 to many_tokens_largest
  int turns;        // tokens in a row that a thread takes one after the other; 0: all blocks are resident, and share all turns
};

inline constexpr int many_tokens_largest = 384; // threads of a block, whose stages then fill 48 KiB
inline constexpr int most_turns = 64;

// Up to so many tokens, blocks that are all resident take tokens in turns. With more, tokens of a turn would lie far apart in
// memory for too long: short blocks then take two tokens in a row, and others follow them.
inline constexpr int resident_tokens = 4096;
constexpr ManyTokensCut many_tokens_cut(int tokens) {
  return tokens <= resident_tokens ? ManyTokensCut{many_tokens_largest, 0} : ManyTokensCut{many_tokens_largest / 2, 2};
}

// tik_qk_norm_rope_kv_write by the kernel of many tokens, in this cut. TIK_UNSUPPORTED for heads that do not suit that kernel.
tik_status qk_norm_rope_kv_write(tik_qk_norm_rope_kv_write_args const* args, ManyTokensCut const& cut);

} // namespace tik::operators::sm90
