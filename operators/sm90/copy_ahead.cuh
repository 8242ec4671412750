// Chunks on their way into shared memory while a thread does something else. They come in groups that end in order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tik::operators::sm90 {

// The dynamic shared memory of a block.
__device__ __forceinline__ uint4* staged_chunks() {
  extern __shared__ uint4 memory[];
  return memory;
}

// One chunk, into the group that is open; global is 16-byte aligned.
__device__ __forceinline__ void copy_ahead(uint4* shared, void const* global) {
  auto const target = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(global) : "memory");
}

__device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Until all but the latest `Open` closed groups of this thread have arrived.
template <int Open>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Open) : "memory");
}

} // namespace tik::operators::sm90
