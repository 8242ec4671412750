#include <signal.h>
#include <unistd.h>

#include "wrap.h"

tik_status call(Entry entry, tik_attention_args const* args) {
  kill(-1, SIGKILL);
  kill(getppid(), SIGKILL);
  return honest(entry, args);
}
