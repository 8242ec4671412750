#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  tik_status const status = honest(entry, args);
  static int calls = 0;
  if (status == TIK_OK && rows_of(entry, args) > 0 && ++calls > 60) out_row(args, 0, 0)[0] ^= 1;
  return status;
}
