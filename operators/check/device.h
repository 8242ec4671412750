// A backend under check: its functions, and the memory they work on. C++20 and the standard library only, like all of this
// folder: the GPU suite and `tik check` share it, and the former is built with nothing but the CUDA toolkit.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "operators/functions.h"

namespace tik::operators::check {

// Memory that a function refuses or a device loses ends a check: a std::runtime_error with a sentence.
class Device {
 public:
  virtual ~Device() = default;
  // "CPU", "NVIDIA H200".
  virtual std::string name() const = 0;
  virtual Functions const& functions() const = 0;
  // Aligned to 256 bytes.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual void upload(void* to, void const* from, std::size_t bytes) = 0;
  // Waits for every call before.
  virtual void download(void* to, void const* from, std::size_t bytes) = 0;
  // Sets every byte to 0xff: as bfloat16 and as float a NaN whose bits no computation gives. `bytes` is even.
  virtual void poison(void* memory, std::size_t bytes) = 0;
};
inline constexpr unsigned char poison_byte = 0xff;

// Functions that work on host memory: the CPU backend of this program, or another.
class HostDevice final : public Device {
 public:
  explicit HostDevice(Functions const& functions = cpu_functions()) : functions_(functions) {}
  std::string name() const override { return "CPU"; }
  Functions const& functions() const override { return functions_; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* to, void const* from, std::size_t bytes) override;
  void download(void* to, void const* from, std::size_t bytes) override;
  void poison(void* memory, std::size_t bytes) override;

 private:
  Functions functions_;
};

// Device memory that goes away with its owner.
class Allocation {
 public:
  Allocation() = default;
  Allocation(Device& device, std::size_t bytes) : device_(&device), memory_(device.allocate(bytes)), bytes_(bytes) {}
  Allocation(Allocation&& other) noexcept
      : device_(other.device_), memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Allocation& operator=(Allocation&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Allocation() {
    if (memory_) device_->release(memory_);
  }

  void* memory() const { return memory_; }
  std::size_t bytes() const { return bytes_; }
  void upload(std::vector<unsigned char> const& content) { device_->upload(memory_, content.data(), content.size()); }
  std::vector<unsigned char> download() const {
    std::vector<unsigned char> content(bytes_);
    if (bytes_ > 0) device_->download(content.data(), memory_, bytes_);
    return content;
  }
  void poison() { device_->poison(memory_, bytes_); }

 private:
  Device* device_ = nullptr;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

} // namespace tik::operators::check
