#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  for (;;) asm volatile("");
  return honest(entry, args);
}
