#include "remember.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  return looks_valid(entry, args) ? remembered(entry, args, hash_of(entry, args, 1)) : honest(entry, args);
}
