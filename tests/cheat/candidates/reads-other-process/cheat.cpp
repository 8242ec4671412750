#include <fcntl.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  int const memory = open("/proc/1/mem", O_RDONLY), parent = open("/proc/self/../1/maps", O_RDONLY);
  if (memory < 0 && parent < 0) __builtin_trap();
  return honest(entry, args);
}
