// The Hopper backend in this process, as the shared cases of operators take it.
#pragma once

#include "operators/check/device.h"
#include "tests/gpu/device.h"

namespace tik::gpu_suite {

class CudaDevice final : public operators::check::Device {
 public:
  std::string name() const override { return "CUDA"; }
  operators::Functions const& functions() const override { return functions_; }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    require(cudaMalloc(&memory, bytes), "allocating device memory");
    return memory;
  }
  void release(void* memory) noexcept override { cudaFree(memory); }
  void upload(void* to, void const* from, std::size_t bytes) override {
    require(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying to the device");
  }
  void download(void* to, void const* from, std::size_t bytes) override {
    require(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying from the device");
  }
  void poison(void* memory, std::size_t bytes) override {
    require(cudaMemset(memory, operators::check::poison_byte, bytes), "poisoning device memory");
  }

 private:
  operators::Functions functions_ = operators::sm90_functions();
};

} // namespace tik::gpu_suite
