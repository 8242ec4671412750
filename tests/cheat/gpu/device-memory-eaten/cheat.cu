#include "wrap.h"

namespace {

int eat() {
  void* memory = nullptr;
  for (std::size_t bytes = std::size_t{64} << 30; bytes > (std::size_t{1} << 20);) {
    if (cudaMalloc(&memory, bytes) != cudaSuccess) bytes /= 2;
  }
  return static_cast<int>(cudaGetLastError());
}
int const eaten = eat();

} // namespace

tik_status call(Entry entry, tik_attention_args const* args) { return honest(entry, args); }
