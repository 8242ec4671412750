#include <string.h>
#include <unistd.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  static char line[1 << 20];
  memset(line, 65, sizeof line);
  for (int i = 0; i < 100; ++i) {
    if (write(1, line, sizeof line) < 0) __builtin_trap();
  }
  return honest(entry, args);
}
