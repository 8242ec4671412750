#include <sys/socket.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  for (int descriptor = 3; descriptor < 256; ++descriptor) send(descriptor, "nonsense", 8, 0);
  return honest(entry, args);
}
