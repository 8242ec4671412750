// Instead of operators/sm90/launch.cuh where kernels for Hopper are compiled for the host: a launch runs block after block,
// each thread of a block as a fiber. What CUDA gives a kernel (indices, barriers, exchange between lanes) is here; its
// arithmetic is that of operators/arithmetic.h on the host, which has the same bits. This file is included before all others.
#pragma once

#include <cuda_runtime.h>

#include "operators/last_error.h"
#include "tests/operators/sm90_on_host/fibers.h"

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __maxnreg__
#define __maxnreg__(...)
#undef __shared__
#define __shared__ static // of one block at a time
#define threadIdx (::tik::on_host::thread_index)
#define blockIdx (::tik::on_host::block_index)
#define blockDim (::tik::on_host::block_size)

inline void __syncthreads() { tik::on_host::Block::current().wait_for_block(); }

inline float __shfl_xor_sync(unsigned, float number, int distance) {
  tik::on_host::Block& block = tik::on_host::Block::current();
  return block.exchange(number, block.thread() ^ static_cast<unsigned>(distance));
}

inline float __shfl_sync(unsigned, float number, int lane, int width) {
  tik::on_host::Block& block = tik::on_host::Block::current();
  return block.exchange(number, block.thread() / width * width + lane % width);
}

namespace tik::operators::sm90 {

using Error = LastError<struct Sm90Backend>;

template <typename Launch>
tik_status run(char const*, std::optional<Refusal> refusal, Launch launch) {
  if (!refusal) launch();
  return Error::keep(std::move(refusal));
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_overlapped(void (*kernel)(Parameters...), dim3 grid, int threads, void*, Arguments const&... arguments) {
  on_host::block_size = {static_cast<unsigned>(threads)};
  for (on_host::block_index.y = 0; on_host::block_index.y < grid.y; ++on_host::block_index.y) {
    for (on_host::block_index.x = 0; on_host::block_index.x < grid.x; ++on_host::block_index.x) {
      on_host::Block::current().run(static_cast<unsigned>(threads), [&] { kernel(arguments...); });
    }
  }
  return cudaSuccess;
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_overlapped_sharing(int, void (*kernel)(Parameters...), dim3 grid, int threads, void* stream,
                                      Arguments const&... arguments) {
  return launch_overlapped(kernel, grid, threads, stream, arguments...);
}

inline void wait_for_kernel_before() {}
inline void start_kernel_after() {}

inline constexpr int multiprocessors = 132;

} // namespace tik::operators::sm90
