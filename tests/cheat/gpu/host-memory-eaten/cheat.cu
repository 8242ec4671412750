#include <cstdlib>
#include <cstring>

#include "wrap.h"

namespace {

// 24 GiB in all, so that a machine without a limit survives it.
int eat() {
  for (int gibibytes = 0; gibibytes < 24; ++gibibytes) {
    if (void* const memory = std::malloc(std::size_t{1} << 30)) std::memset(memory, 1, std::size_t{1} << 30);
  }
  return 0;
}
int const eaten = eat();

} // namespace

tik_status call(Entry entry, tik_attention_args const* args) { return honest(entry, args); }
