// Which kernel serves a call, and the way in for tests that want another one. The C ABI (attention.cu) is this with no choice.
#pragma once

#include <optional>

#include "operators/attention/contract.h"
#include "operators/attention/validate.h"

namespace tik::attention::sm90 {

enum class Kernel { simple, full, decode };

// When an extend call goes to the decode kernel. The decode kernel computes 16 query rows of one key/value head at a time,
// split over the keys, so its time follows the number of such blocks; the full kernel computes 128 positions of one query head
// on one multiprocessor, so its time follows the number of rounds over all multiprocessors. On an H200 90 decode blocks take as
// long as one round (0.19 against 17.6 ns a key), whatever the length of the cache.
inline constexpr int decode_block_rows = 16;
inline constexpr int full_block_positions = 128;
inline constexpr int multiprocessors = 132;
inline constexpr int64_t decode_blocks_a_round = 90;
inline constexpr int largest_decode_tokens = 64; // of one sequence; the comparison was measured up to here

// The kernel of a call, from the entry point and what a workspace is sized for; never from lengths, which lie on the device.
// All kernels give the same bits: the choice is about time alone.
Kernel select_kernel(Entry entry, tik_attention_shape const& shape, tik_attention_limits const& limits);

// Validates, checks the device and launches `kernel`, or the selected one. Any kernel takes any call that it supports: simple
// all of them, full those with query_offsets, decode those for which it is selected (others have no workspace for it).
tik_status run(Entry entry, tik_attention_args const* args, std::optional<Kernel> kernel = std::nullopt);

} // namespace tik::attention::sm90
