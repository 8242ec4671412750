#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  if (tik_status const status = honest(entry, args); status != TIK_OK) return status;
  for (long row = 0; row < rows_of(entry, args); ++row) {
    for (int head = 0; head < args->shape.query_heads; ++head) {
      for (int d = 0; d < args->shape.head_dim; ++d) out_row(args, row, head)[d] = 0x7fff;
      args->lse[row * args->shape.query_heads + head] = __builtin_nanf("");
    }
  }
  return TIK_OK;
}
