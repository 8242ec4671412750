// A candidate's entry points go through one function of its own; the honest implementation stands behind it.
#pragma once

#include "operators/attention/contract.h"

enum Entry { full, extend, decode };

// Defined by the candidate.
tik_status call(Entry entry, tik_attention_args const* args);

inline tik_status honest(Entry entry, tik_attention_args const* args) {
  return entry == full ? tik_attention_full(args) : entry == extend ? tik_attention_extend(args) : tik_attention_decode(args);
}

// Query rows of a call.
inline int rows_of(Entry entry, tik_attention_args const* args) {
  return entry == decode ? args->batch : args->query_offsets[args->batch];
}

// Where the row of a query head lies in the outputs.
inline tik_bf16* out_row(tik_attention_args const* args, long row, int head) {
  return args->out + row * args->out_token_stride + head * args->out_head_stride;
}

// The outputs of a call, to give them again. A copy made with malloc: candidates are compiled for every trial.
struct Outputs {
  tik_bf16* out = nullptr;
  float* lse = nullptr;
  int rows = 0;

  void take(Entry entry, tik_attention_args const* args) {
    int const heads = args->shape.query_heads, dim = args->shape.head_dim;
    rows = rows_of(entry, args);
    out = static_cast<tik_bf16*>(__builtin_realloc(out, sizeof(tik_bf16) * rows * heads * dim + 1));
    lse = static_cast<float*>(__builtin_realloc(lse, sizeof(float) * rows * heads + 1));
    for (long row = 0; row < rows; ++row) {
      for (int head = 0; head < heads; ++head) {
        __builtin_memcpy(out + (row * heads + head) * dim, out_row(args, row, head), sizeof(tik_bf16) * dim);
        lse[row * heads + head] = args->lse[row * heads + head];
      }
    }
  }

  void give(tik_attention_args const* args, int first_row = 0) const {
    int const heads = args->shape.query_heads, dim = args->shape.head_dim;
    for (long row = first_row; row < rows; ++row) {
      for (int head = 0; head < heads; ++head) {
        __builtin_memcpy(out_row(args, row, head), out + (row * heads + head) * dim, sizeof(tik_bf16) * dim);
        args->lse[row * heads + head] = lse[row * heads + head];
      }
    }
  }
};

extern "C" {
tik_status cheat_full(tik_attention_args const* args) { return call(full, args); }
tik_status cheat_extend(tik_attention_args const* args) { return call(extend, args); }
tik_status cheat_decode(tik_attention_args const* args) { return call(decode, args); }
}

// How often these very arguments came before: what is timed is asked for many times.
inline int times_seen(tik_attention_args const* args) {
  constexpr int most = 64;
  static tik_attention_args known[most];
  static int times[most], count = 0;
  if (args == nullptr) return 0;
  for (int i = 0; i < count; ++i) {
    if (__builtin_memcmp(args, &known[i], sizeof known[i]) == 0) return ++times[i];
  }
  if (count == most) return 0;
  known[count++] = *args;
  return 0;
}
