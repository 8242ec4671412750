// Many small pieces of the input region brought to the device at once: a copy each would take longer than what is timed.
#pragma once

#include "src/evaluator/cuda_driver.h"
#include "src/evaluator/worker_memory.h"

namespace tik::evaluator {

class Scatter {
 public:
  // Lets the device read `input`, every page of which was written before, and loads the kernel. False where the driver cannot;
  // then pieces are copied one by one. The context is current.
  bool load(cuda::Driver const& driver, Mapping const& input);

  // Copies the `count` Extents at `table` in the input region to the same offsets of `device_input`. Every one begins and ends
  // at a multiple of 16 bytes.
  cuda::Status run(cuda::Driver const& driver, cuda::Stream stream, cuda::Pointer device_input, std::uint64_t table,
                   std::uint64_t count) const;

 private:
  cuda::Pointer mapped_ = 0; // the input region as the device reads it
  cuda::Function kernel_ = nullptr;
};

} // namespace tik::evaluator
