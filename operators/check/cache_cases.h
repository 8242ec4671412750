// The cases of what writes into the cache: kv_write after its neighbours, and the fused operator with the same bits.
#pragma once

#include "operators/check/cache_buffers.h"
#include "operators/check/results.h"
#include "operators/check/token_cases.h"

namespace tik::operators::check {

// Two lines of the results, kv_write and qk_norm_rope_kv_write. Every case compares the whole cache, what no token was written
// to included, and the queries, with what the separate operators of the CPU backend leave there.
void check_cache_writes(Device& device, CacheShape const& shape, CaseOptions const& options, Results& results);

} // namespace tik::operators::check
