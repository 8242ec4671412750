// The limit of an operator on single tokens: a kernel that only reads and writes as many bytes.
#include <cuda_runtime.h>

#include "operators/sm90/launch.cuh"

namespace {

using tik::operators::sm90::launch_overlapped;
using tik::operators::sm90::start_kernel_after;
using tik::operators::sm90::wait_for_kernel_before;

// Item i of the call is chunk i of each of `Reads` inputs, one after the other in memory, and of each of `Writes` outputs.
struct CopyParams {
  uint4 const* in;
  uint4* out;
  int64_t items;
};

template <bool Streaming>
__device__ __forceinline__ uint4 load(uint4 const* at) {
  return Streaming ? __ldcs(at) : *at;
}

template <bool Streaming>
__device__ __forceinline__ void store(uint4* at, uint4 chunk) {
  if (Streaming) {
    __stcs(at, chunk);
  } else {
    *at = chunk;
  }
}

template <int Reads, int Writes, int Items, int Threads, bool Streaming>
__global__ void __launch_bounds__(Threads) copy_kernel(CopyParams const params) {
  start_kernel_after();
  int64_t const first = int64_t{blockIdx.x} * (Threads * Items) + threadIdx.x;
  uint4 chunks[Items][Reads];
  wait_for_kernel_before();
#pragma unroll
  for (int i = 0; i < Items; ++i) {
#pragma unroll
    for (int r = 0; r < Reads; ++r) {
      if (first + i * Threads < params.items)
        chunks[i][r] = load<Streaming>(params.in + r * params.items + first + i * Threads);
    }
  }
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    uint4 mixed = chunks[i][0]; // of every input, so that none is left out
#pragma unroll
    for (int r = 1; r < Reads; ++r) {
      mixed.x ^= chunks[i][r].x, mixed.y ^= chunks[i][r].y, mixed.z ^= chunks[i][r].z, mixed.w ^= chunks[i][r].w;
    }
#pragma unroll
    for (int w = 0; w < Writes; ++w) {
      if (first + i * Threads < params.items) store<Streaming>(params.out + w * params.items + first + i * Threads, mixed);
    }
  }
}

template <int Reads, int Writes, int Items, int Threads, bool Streaming>
cudaError_t launch(CopyParams const& params, void* stream) {
  dim3 const grid((params.items + Items * Threads - 1) / (Items * Threads));
  return launch_overlapped(copy_kernel<Reads, Writes, Items, Threads, Streaming>, grid, Threads, stream, params);
}

template <int Reads, int Writes>
cudaError_t launch_way(int way, CopyParams const& params, void* stream) {
  switch (way) {
    case 0:
      return launch<Reads, Writes, 1, 128, false>(params, stream);
    case 1:
      return launch<Reads, Writes, 1, 512, false>(params, stream);
    case 2:
      return launch<Reads, Writes, 2, 256, false>(params, stream);
    case 3:
      return launch<Reads, Writes, 4, 256, false>(params, stream);
    case 4:
      return launch<Reads, Writes, 1, 512, true>(params, stream);
    case 5:
      return launch<Reads, Writes, 2, 256, true>(params, stream);
    case 6:
      return launch<Reads, Writes, 4, 256, true>(params, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

} // namespace

extern "C" {

int copy_ways(void) { return 7; }

/* Reads `reads` x `bytes` from `in` and writes `writes` x `bytes` to `out`, `bytes` a multiple of 16, in one of copy_ways()
 * ways. Returns 0 or a CUDA error number. */
int copy_launch(int way, int reads, int writes, void const* in, void* out, int64_t bytes, void* stream) {
  CopyParams const params{static_cast<uint4 const*>(in), static_cast<uint4*>(out), bytes / int64_t{sizeof(uint4)}};
  if (reads == 1 && writes == 1) return launch_way<1, 1>(way, params, stream);
  if (reads == 2 && writes == 1) return launch_way<2, 1>(way, params, stream);
  if (reads == 2 && writes == 2) return launch_way<2, 2>(way, params, stream);
  return cudaErrorInvalidValue;
}
}
