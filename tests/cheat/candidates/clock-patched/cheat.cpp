#include "patch.h"
#include "slow_clock.h"
#include "wrap.h"

__attribute__((constructor)) static void on_load() { patch_program("clock_gettime", reinterpret_cast<void*>(slow_clock)); }

tik_status call(Entry entry, tik_attention_args const* args) { return honest(entry, args); }
