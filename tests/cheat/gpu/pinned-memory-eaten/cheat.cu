#include "wrap.h"

namespace {

// 24 GiB in all, so that a machine without a limit survives it.
int eat() {
  void* memory = nullptr;
  for (int gibibytes = 0; gibibytes < 24; ++gibibytes) cudaMallocHost(&memory, std::size_t{1} << 30);
  return static_cast<int>(cudaGetLastError());
}
int const eaten = eat();

} // namespace

tik_status call(Entry entry, tik_attention_args const* args) { return honest(entry, args); }
