// A candidate's entry points go through one function of its own; the honest implementation stands behind it.
#pragma once

#include <cuda_runtime.h>

#include "operators/attention/contract.h"

enum Entry { full, extend, decode };

// Defined by the candidate.
tik_status call(Entry entry, tik_attention_args const* args);

inline tik_status honest(Entry entry, tik_attention_args const* args) {
  return entry == full ? tik_attention_full(args) : entry == extend ? tik_attention_extend(args) : tik_attention_decode(args);
}

inline cudaStream_t stream_of(tik_attention_args const* args) { return static_cast<cudaStream_t>(args->stream); }

extern "C" {
tik_status cheat_full(tik_attention_args const* args) { return call(full, args); }
tik_status cheat_extend(tik_attention_args const* args) { return call(extend, args); }
tik_status cheat_decode(tik_attention_args const* args) { return call(decode, args); }
}
