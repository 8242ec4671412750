#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  int const memory = shm_open("/tik-cheat", O_RDWR | O_CREAT, 0666);
  if (memory < 0) return honest(entry, args);
  close(memory);
  return honest(entry, args);
}
