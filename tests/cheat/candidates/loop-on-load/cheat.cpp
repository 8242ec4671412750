#include "wrap.h"

__attribute__((constructor)) static void on_load() {
  for (;;) asm volatile("");
}

tik_status call(Entry entry, tik_attention_args const* args) { return honest(entry, args); }
