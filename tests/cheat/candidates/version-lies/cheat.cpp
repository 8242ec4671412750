#include "wrap.h"

extern "C" int32_t cheat_version() { return 7; }

tik_status call(Entry entry, tik_attention_args const* args) { return honest(entry, args); }
