#include "operators/check/device.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace tik::operators::check {

void* HostDevice::allocate(std::size_t bytes) {
  constexpr std::size_t alignment = 256;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment + alignment);
  if (!memory) throw std::runtime_error("The machine has no " + std::to_string(bytes) + " bytes of memory left for the check.");
  return memory;
}

void HostDevice::release(void* memory) noexcept { std::free(memory); }
void HostDevice::upload(void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void HostDevice::download(void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void HostDevice::poison(void* memory, std::size_t bytes) { std::memset(memory, poison_byte, bytes); }

} // namespace tik::operators::check
