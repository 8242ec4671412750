#include "src/evaluator/cuda_driver.h"

#include <dlfcn.h>

#include "src/base/symbols.h"

namespace tik::evaluator::cuda {
std::string Driver::describe(Status status) const {
  char const *name = nullptr, *text = nullptr;
  GetErrorName(status, &name);
  GetErrorString(status, &text);
  if (name == nullptr) return "CUDA error " + std::to_string(status);
  return text == nullptr ? std::string(name) : std::string(name) + ": " + text;
}

Result<Driver> load_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    char const* const reason = dlerror();
    return input_error(std::string("The NVIDIA driver is not there: ") + (reason == nullptr ? "libcuda.so.1" : reason) + ".");
  }
  Symbols symbols(library);
  Driver driver{};
  symbols.find(driver.Init, "cuInit");
  symbols.find(driver.DriverGetVersion, "cuDriverGetVersion");
  symbols.find(driver.DeviceGet, "cuDeviceGet");
  symbols.find(driver.DeviceGetName, "cuDeviceGetName");
  symbols.find(driver.DeviceGetAttribute, "cuDeviceGetAttribute");
  symbols.find(driver.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  symbols.find(driver.CtxSetCurrent, "cuCtxSetCurrent");
  symbols.find(driver.CtxSynchronize, "cuCtxSynchronize");
  symbols.find(driver.CtxResetPersistingL2Cache, "cuCtxResetPersistingL2Cache");
  symbols.find(driver.CtxSetLimit, "cuCtxSetLimit");
  symbols.find(driver.MemAlloc, "cuMemAlloc_v2");
  symbols.find(driver.MemFree, "cuMemFree_v2");
  symbols.find(driver.MemcpyHtoD, "cuMemcpyHtoD_v2");
  symbols.find(driver.MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  symbols.find(driver.MemcpyDtoH, "cuMemcpyDtoH_v2");
  symbols.find(driver.MemsetD16Async, "cuMemsetD16Async");
  symbols.find(driver.MemHostRegister, "cuMemHostRegister_v2");
  symbols.find(driver.MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2");
  symbols.find(driver.ModuleLoadData, "cuModuleLoadData");
  symbols.find(driver.ModuleGetFunction, "cuModuleGetFunction");
  symbols.find(driver.LaunchKernel, "cuLaunchKernel");
  symbols.find(driver.StreamCreate, "cuStreamCreate");
  symbols.find(driver.StreamSynchronize, "cuStreamSynchronize");
  symbols.find(driver.StreamBeginCapture, "cuStreamBeginCapture_v2");
  symbols.find(driver.StreamEndCapture, "cuStreamEndCapture");
  symbols.find(driver.EventCreate, "cuEventCreate");
  symbols.find(driver.EventRecord, "cuEventRecord");
  symbols.find(driver.EventElapsedTime, "cuEventElapsedTime");
  symbols.find(driver.GraphInstantiate, "cuGraphInstantiateWithFlags");
  symbols.find(driver.GraphUpload, "cuGraphUpload");
  symbols.find(driver.GraphLaunch, "cuGraphLaunch");
  symbols.find(driver.GraphExecDestroy, "cuGraphExecDestroy");
  symbols.find(driver.GraphDestroy, "cuGraphDestroy");
  symbols.find(driver.GraphGetNodes, "cuGraphGetNodes");
  symbols.find(driver.GraphNodeGetType, "cuGraphNodeGetType");
  symbols.find(driver.GraphKernelNodeGetParams, "cuGraphKernelNodeGetParams_v2");
  symbols.find(driver.FuncGetAttribute, "cuFuncGetAttribute");
  symbols.find(driver.FuncGetName, "cuFuncGetName");
  symbols.find(driver.KernelGetFunction, "cuKernelGetFunction");
  symbols.find(driver.OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  symbols.find(driver.GetErrorName, "cuGetErrorName");
  symbols.find(driver.GetErrorString, "cuGetErrorString");
  if (symbols.missing().empty()) return driver;
  return input_error("The NVIDIA driver is too old: it has no " + symbols.missing() + " (CUDA 12.3 or newer is needed).");
}

} // namespace tik::evaluator::cuda
