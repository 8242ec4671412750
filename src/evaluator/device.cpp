#include "src/evaluator/device.h"

#include <cstdlib>

namespace tik::evaluator {
namespace {

constexpr int flush_factor = 4; // times the second-level cache: what is written over it before a cold replay

} // namespace

bool Steps::operator()(char const* doing, cuda::Status status) {
  if (status != 0 && !failed_) {
    failed_ = true;
    reply_.status = TIK_DEVICE_ERROR;
    reply_.error = std::string(doing) + ": " + driver_.describe(status) + ".";
  }
  return !failed_;
}

Result<Device> open_device(std::size_t input_bytes, std::size_t output_bytes) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1); // code is loaded with the library, not in the first call, which may be captured
  setenv("CUDA_CACHE_DISABLE", "1", 1);      // there is no place to write to
  Device device;
  TIK_TRY(device.driver, cuda::load_driver());
  cuda::Driver const& driver = device.driver;
  Steps step(driver);
  int l2_bytes = 0, major = 0, minor = 0;
  step("starting the driver", driver.Init(0)) && step("finding the device", driver.DeviceGet(&device.number, 0)) &&
      step("reading the device", driver.DeviceGetAttribute(&major, cuda::capability_major, device.number)) &&
      step("reading the device", driver.DeviceGetAttribute(&minor, cuda::capability_minor, device.number)) &&
      step("reading the device", driver.DeviceGetAttribute(&l2_bytes, cuda::l2_cache_bytes, device.number)) &&
      step("making a context", driver.DevicePrimaryCtxRetain(&device.context, device.number)) &&
      step("entering the context", driver.CtxSetCurrent(device.context)) &&
      step("making a stream", driver.StreamCreate(&device.stream, cuda::default_flags)) &&
      step("making an event", driver.EventCreate(&device.begin, cuda::default_flags)) &&
      step("making an event", driver.EventCreate(&device.end, cuda::default_flags));
  device.flushed_bytes = static_cast<std::size_t>(l2_bytes) * flush_factor;
  !step.failed() && step("allocating device memory", driver.MemAlloc(&device.input, input_bytes)) &&
      step("allocating device memory", driver.MemAlloc(&device.output, output_bytes)) &&
      step("allocating device memory", driver.MemAlloc(&device.flushed, device.flushed_bytes)) &&
      step("writing device memory", driver.MemsetD16Async(device.flushed, 0, device.flushed_bytes / 2, device.stream)) &&
      step("waiting for the device", driver.StreamSynchronize(device.stream));
  if (step.failed()) return input_error("The GPU cannot be used: " + step.reply().error);
  if (major != 9 || minor != 0) {
    return input_error("The target sm_90a needs a GPU of compute capability 9.0 (Hopper), and this one has " +
                       std::to_string(major) + "." + std::to_string(minor) + ".");
  }
  return device;
}

} // namespace tik::evaluator
