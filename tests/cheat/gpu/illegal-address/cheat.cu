#include "wrap.h"

namespace {

__global__ void read_nowhere(float* lse) { *lse = *reinterpret_cast<float volatile*>(16); }

} // namespace

tik_status call(Entry entry, tik_attention_args const* args) {
  if (entry != decode) return honest(entry, args);
  read_nowhere<<<1, 1, 0, stream_of(args)>>>(args->lse);
  return TIK_OK;
}
