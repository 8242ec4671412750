// Instead of operators/sm90/copy_ahead.cuh on the host: a chunk has arrived as soon as it is asked for, so a kernel that reads
// one before it has waited is not found here.
#pragma once

#include <cuda_runtime.h>

#include <cstring>

namespace tik::operators::sm90 {

inline uint4* staged_chunks() {
  static uint4 memory[(48 << 10) / sizeof(uint4)]; // of one block at a time
  return memory;
}

inline void copy_ahead(uint4* shared, void const* global) { std::memcpy(shared, global, sizeof(uint4)); }
inline void close_copies() {}
template <int Open>
void wait_for_copies() {}

} // namespace tik::operators::sm90
