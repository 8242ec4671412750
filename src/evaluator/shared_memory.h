// Memory that the parent writes and a worker sees: sealed, so that a worker can neither resize it nor, for inputs, write to it.
#pragma once

#include <cstddef>
#include <span>

#include "src/evaluator/process.h"

namespace tik::evaluator {

class SharedMemory {
 public:
  enum class Access { worker_reads, worker_writes };
  static Result<SharedMemory> make(std::size_t bytes, Access access);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::span<std::byte> bytes() const { return {base_, size_}; }
  int descriptor() const { return descriptor_.get(); }

 private:
  SharedMemory() = default;
  Descriptor descriptor_;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace tik::evaluator
