#include "wrap.h"

namespace {

__global__ void write_behind(tik_bf16* keys) { keys[-1] = 0; }

} // namespace

tik_status call(Entry entry, tik_attention_args const* args) {
  tik_status const status = honest(entry, args);
  if (status == TIK_OK) write_behind<<<1, 1, 0, stream_of(args)>>>(const_cast<tik_bf16*>(args->kv.keys));
  return status;
}
