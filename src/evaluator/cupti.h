// The part of CUPTI, NVIDIA's profiling library, that records kernels as they run: found at run time like the driver, so that a
// program with this inside needs no CUDA to be built or to start.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/error.h"

namespace tik::evaluator::cuda {

// A kernel that ran.
struct KernelRun {
  std::string name; // mangled
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t registers = 0, static_shared_bytes = 0, dynamic_shared_bytes = 0, local_bytes = 0; // local: of a thread
  std::uint64_t nanoseconds = 0;                                                                   // on the device
};

// How the activity record of a kernel begins, from CUpti_ActivityKernel5 on: every version since appends to the one before.
struct KernelActivity {
  std::uint32_t kind;
  std::uint8_t cache_config, shared_memory_config;
  std::uint16_t registers;
  std::uint32_t global_cache_requested, global_cache_executed;
  std::uint64_t start, end, completed; // nanoseconds
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3];
  std::int32_t static_shared_bytes, dynamic_shared_bytes;
  std::uint32_t local_bytes, local_bytes_in_all;
  std::uint32_t correlation;
  std::int64_t grid_id;
  char const* name;
};
inline constexpr std::uint32_t concurrent_kernel_activity = 10; // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL

// Records the kernels of this process between start() and stop(), on whatever stream or graph they run. The library calls back
// without a word of whom, so there is one recording at a time.
class KernelRecorder {
 public:
  // The error says why kernels cannot be recorded here.
  Result<void> start();
  // Whatever was launched must have ended.
  Result<void> stop();
  // Of the latest recording, in the order of their beginning.
  std::vector<KernelRun> const& kernels() const { return kernels_; }
  // "CUPTI 130001", once started.
  std::string const& source() const { return source_; }

 private:
  struct Library;
  Library const* library_ = nullptr; // stays loaded as long as the process: its threads would outlive it
  std::vector<KernelRun> kernels_;
  std::string source_;
};

} // namespace tik::evaluator::cuda
