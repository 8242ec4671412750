#include <stdlib.h>
#include <string.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  for (;;) {
    void* const piece = malloc(1 << 20);
    if (piece == nullptr) abort();
    memset(piece, 1, 1 << 20);
  }
  return honest(entry, args);
}
