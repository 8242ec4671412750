#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  static Outputs before;
  before.take(entry, args);
  tik_status const status = honest(entry, args);
  before.give(args, before.rows / 2);
  return status;
}
