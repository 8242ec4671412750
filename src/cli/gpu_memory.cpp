#include "src/cli/gpu_memory.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tik::cli {
namespace cuda = evaluator::cuda;
namespace {

constexpr unsigned short poison_pattern = operators::check::poison_byte << 8 | operators::check::poison_byte;

cuda::Pointer pointer_of(void const* memory) { return reinterpret_cast<cuda::Pointer>(memory); }

} // namespace

Result<Gpu> open_gpu() {
  Gpu gpu;
  TIK_TRY(gpu.driver, cuda::load_driver());
  cuda::Driver const& driver = gpu.driver;
  int number = 0, major = 0, minor = 0;
  char name[256] = "";
  cuda::Context context = nullptr;
  cuda::Status status = driver.Init(0);
  if (status == 0) status = driver.DeviceGet(&number, 0);
  if (status == 0) status = driver.DeviceGetName(name, sizeof name, number);
  if (status == 0) status = driver.DeviceGetAttribute(&major, cuda::capability_major, number);
  if (status == 0) status = driver.DeviceGetAttribute(&minor, cuda::capability_minor, number);
  if (status != 0) return machine_error(fmt::format("No GPU can be used: {}.", driver.describe(status)));
  gpu.name = name;
  if (major != 9 || minor != 0) {
    return machine_error(fmt::format(
        "{} has compute capability {}.{}, and the kernels are for 9.0 (Hopper): their bits rest on its tensor core.", gpu.name,
        major, minor));
  }
  status = driver.DevicePrimaryCtxRetain(&context, number);
  if (status == 0) status = driver.CtxSetCurrent(context);
  if (status != 0) return machine_error(fmt::format("{} cannot be used: {}.", gpu.name, driver.describe(status)));
  return gpu;
}

void GpuMemory::require(cuda::Status status, char const* doing) const {
  if (status != 0) throw std::runtime_error(fmt::format("{}: {} failed: {}.", gpu_.name, doing, gpu_.driver.describe(status)));
}

void* GpuMemory::allocate(std::size_t bytes) {
  cuda::Pointer memory = 0;
  require(gpu_.driver.MemAlloc(&memory, bytes > 0 ? bytes : 1), "allocating memory");
  return reinterpret_cast<void*>(memory);
}

void GpuMemory::release(void* memory) noexcept { gpu_.driver.MemFree(pointer_of(memory)); }

void GpuMemory::upload(void* to, void const* from, std::size_t bytes) {
  if (bytes > 0) require(gpu_.driver.MemcpyHtoD(pointer_of(to), from, bytes), "copying to the device");
}

void GpuMemory::download(void* to, void const* from, std::size_t bytes) {
  if (bytes > 0) require(gpu_.driver.MemcpyDtoH(to, pointer_of(from), bytes), "copying from the device");
}

void GpuMemory::poison(void* memory, std::size_t bytes) {
  if (bytes > 0)
    require(gpu_.driver.MemsetD16Async(pointer_of(memory), poison_pattern, bytes / 2, nullptr), "poisoning memory");
}

} // namespace tik::cli
