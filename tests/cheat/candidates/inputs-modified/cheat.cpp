#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  const_cast<tik_bf16*>(args->queries)[0] = 0;
  return honest(entry, args);
}
