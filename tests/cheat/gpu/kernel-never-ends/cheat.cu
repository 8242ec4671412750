#include "wrap.h"

namespace {

__global__ void spin(int volatile* never) {
  while (*never != 12345) {
  }
}

} // namespace

tik_status call(Entry entry, tik_attention_args const* args) {
  if (entry != decode) return honest(entry, args);
  spin<<<1, 1, 0, stream_of(args)>>>(reinterpret_cast<int*>(args->lse));
  return TIK_OK;
}
