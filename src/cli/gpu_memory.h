// The memory of the first Hopper GPU, through its driver, for the functions of a loaded library.
#pragma once

#include <string>

#include "operators/check/device.h"
#include "src/evaluator/cuda_driver.h"

namespace tik::cli {

struct Gpu {
  evaluator::cuda::Driver driver{};
  std::string name; // "NVIDIA H200"
};

// Starts the driver and makes the context that a CUDA program of this process will use. The error says why there is no GPU that
// the operators run on.
Result<Gpu> open_gpu();

// Memory of an opened GPU. Failures of the device are std::runtime_error, as operators/check/device.h says.
class GpuMemory final : public operators::check::Device {
 public:
  GpuMemory(Gpu gpu, operators::Functions const& functions) : gpu_(std::move(gpu)), functions_(functions) {}
  std::string name() const override { return gpu_.name; }
  operators::Functions const& functions() const override { return functions_; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* to, void const* from, std::size_t bytes) override;
  void download(void* to, void const* from, std::size_t bytes) override;
  void poison(void* memory, std::size_t bytes) override;

 private:
  void require(evaluator::cuda::Status status, char const* doing) const;

  Gpu gpu_;
  operators::Functions functions_;
};

} // namespace tik::cli
