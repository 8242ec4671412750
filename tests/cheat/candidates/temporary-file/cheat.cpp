#include <fcntl.h>
#include <unistd.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  int const file = open("/tmp/tik-cheat", O_RDWR | O_CREAT, 0666);
  if (file < 0) return honest(entry, args);
  close(file);
  return honest(entry, args);
}
