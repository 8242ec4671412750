#include "wrap.h"

namespace {

__global__ void nothing() {}

} // namespace

tik_status call(Entry entry, tik_attention_args const* args) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream_of(args), &capturing);
  if (capturing == cudaStreamCaptureStatusNone) nothing<<<1, 1, 0, stream_of(args)>>>();
  return honest(entry, args);
}
