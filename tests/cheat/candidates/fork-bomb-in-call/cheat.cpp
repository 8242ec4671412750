#include <unistd.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  for (;;) fork();
  return honest(entry, args);
}
