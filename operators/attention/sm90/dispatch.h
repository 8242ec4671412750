// Which kernel serves a call, and the way in for tests that want another one. The C ABI (attention.cu) is this with no choice.
#pragma once

#include <optional>

#include "operators/attention/contract.h"
#include "operators/attention/validate.h"

namespace tik::attention::sm90 {

enum class Kernel { simple, full, decode };

// Query rows (query_length x query_heads / kv_heads) up to which an extend call goes to the decode kernel.
inline constexpr int64_t largest_decode_rows = 64;

// The kernel of a call, from the entry point and what a workspace is sized for; never from lengths, which lie on the device.
// All kernels give the same bits: the choice is about time alone.
Kernel select_kernel(Entry entry, tik_attention_shape const& shape, tik_attention_limits const& limits);

// Validates, checks the device and launches `kernel`, or the selected one. Any kernel takes any call that it supports: simple
// all of them, full those with query_offsets, decode those with a cache and at most largest_decode_rows rows.
tik_status run(Entry entry, tik_attention_args const* args, std::optional<Kernel> kernel = std::nullopt);

} // namespace tik::attention::sm90
