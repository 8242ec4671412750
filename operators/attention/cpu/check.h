// Refuses what contradicts the contract. On a CPU lengths, offsets and page tables are readable, so they are checked as well.
#pragma once

#include "operators/attention/contract.h"

namespace tik::attention::cpu {

// TIK_OK, or the status to return; the sentence is kept for tik_attention_last_error().
tik_status check_full(tik_attention_args const* args);
tik_status check_extend(tik_attention_args const* args);
tik_status check_decode(tik_attention_args const* args);

} // namespace tik::attention::cpu
