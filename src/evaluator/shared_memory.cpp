#include "src/evaluator/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace tik::evaluator {

Result<SharedMemory> SharedMemory::make(std::size_t bytes, Access access) {
  auto const failure = [&](char const* what) {
    return machine_error(fmt::format("{} MiB of shared memory: {}: {}.", bytes >> 20, what, std::strerror(errno)));
  };
  SharedMemory memory;
  int const low = memfd_create("tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (low < 0) return failure("cannot be made");
  memory.descriptor_ = Descriptor(fcntl(low, F_DUPFD_CLOEXEC, 32));
  close(low);
  if (!memory.descriptor_.open() || ftruncate(memory.descriptor_.get(), static_cast<off_t>(bytes)) != 0) {
    return failure("cannot be sized");
  }
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.descriptor_.get(), 0);
  if (base == MAP_FAILED) return failure("cannot be mapped");
  memory.base_ = static_cast<std::byte*>(base);
  memory.size_ = bytes;
  int const seals = F_SEAL_SHRINK | F_SEAL_GROW | (access == Access::worker_reads ? F_SEAL_FUTURE_WRITE : 0) | F_SEAL_SEAL;
  if (fcntl(memory.descriptor_.get(), F_ADD_SEALS, seals) != 0)
    return failure("cannot be sealed (Linux 5.1 or newer is needed)");
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      base_(std::exchange(other.base_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory::~SharedMemory() {
  if (base_ != nullptr) munmap(base_, size_);
}

} // namespace tik::evaluator
