// Device memory and CUDA errors for the suite.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tik::gpu_suite {

// A CUDA error ends the run: after a fault no later result of the process can be trusted. main() counts it as a failure.
inline void require(cudaError_t error, char const* doing) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(error));
}

// `count` elements of device memory; freed with the object.
template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t count) : count_(count) {
    if (count > 0) require(cudaMalloc(&data_, count * sizeof(T)), "allocating device memory");
  }
  explicit Buffer(std::vector<T> const& values) : Buffer(values.size()) { upload(values); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Buffer() { cudaFree(data_); }

  T* data() const { return data_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

  void upload(std::vector<T> const& values) {
    require(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copying to the device");
  }
  std::vector<T> download() const {
    std::vector<T> values(count_);
    require(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "copying from the device");
    return values;
  }
  void zero() { require(cudaMemset(data_, 0, bytes()), "zeroing device memory"); }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

} // namespace tik::gpu_suite
