#include <sys/mman.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  auto const page = reinterpret_cast<unsigned long>(args->queries) & ~4095UL;
  mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE);
  const_cast<tik_bf16*>(args->queries)[0] = 0;
  return honest(entry, args);
}
