#include <unistd.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
  for (;;) asm volatile("");
  return honest(entry, args);
}
