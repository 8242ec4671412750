#include <time.h>

#include "wrap.h"

extern "C" int clock_gettime(clockid_t, timespec* time) noexcept {
  *time = {1, 0};
  return 0;
}

tik_status call(Entry entry, tik_attention_args const* args) { return honest(entry, args); }
