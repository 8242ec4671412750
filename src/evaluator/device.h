// A GPU as a worker uses it: its driver, a context, a stream, and the memory that mirrors the two regions.
#pragma once

#include <cstddef>
#include <utility>

#include "src/evaluator/cuda_driver.h"
#include "src/evaluator/wire.h"

namespace tik::evaluator {

// The first failure of a sequence of steps on the device, as a reply to whatever was asked; later ones follow from it.
class Steps {
 public:
  explicit Steps(cuda::Driver const& driver) : driver_(driver) {}
  // Whether all steps so far, this one included, worked. `doing` is what the sentence of a failure begins with.
  bool operator()(char const* doing, cuda::Status status);
  bool failed() const { return failed_; }
  DoneReply const& reply() const { return reply_; }

 private:
  cuda::Driver const& driver_;
  bool failed_ = false;
  DoneReply reply_;
};

// A context on the first device with what every worker needs there.
struct Device {
  cuda::Driver driver{};
  int number = 0;
  cuda::Context context = nullptr;
  cuda::Stream stream = nullptr;
  cuda::Event begin = nullptr, end = nullptr;
  cuda::Pointer input = 0, output = 0, flushed = 0; // flushed: what is written over to empty the second-level cache
  std::size_t flushed_bytes = 0;
};

// Memory for regions of these sizes; the error says why this GPU cannot be used.
Result<Device> open_device(std::size_t input_bytes, std::size_t output_bytes);

} // namespace tik::evaluator
