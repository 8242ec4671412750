#include <pthread.h>

static void* work(void*) {
  for (;;) asm volatile("");
}

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  pthread_t thread;
  pthread_create(&thread, nullptr, work, nullptr);
  return honest(entry, args);
}
