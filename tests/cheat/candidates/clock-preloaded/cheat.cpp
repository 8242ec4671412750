#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "wrap.h"

__attribute__((constructor)) static void on_load() {
  Dl_info found;
  if (getenv("LD_PRELOAD") != nullptr || dladdr(reinterpret_cast<void*>(on_load), &found) == 0) return;
  setenv("LD_PRELOAD", found.dli_fname, 1);
  char program[] = "tik", role[] = "evaluator-worker";
  char* const arguments[] = {program, role, nullptr};
  execv("/proc/self/exe", arguments);
}

tik_status call(Entry entry, tik_attention_args const* args) { return honest(entry, args); }
