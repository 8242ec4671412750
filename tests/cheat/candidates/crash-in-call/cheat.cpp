#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  *static_cast<int volatile*>(nullptr) = 1;
  return honest(entry, args);
}
