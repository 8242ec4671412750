// What the Hopper backend's functions share: the device they run on, how a kernel is launched, and their refusals.
#pragma once

#include <cuda_runtime.h>

#include "operators/last_error.h"

namespace tik::operators::sm90 {

using Error = LastError<struct Sm90Backend>;

// Nothing on success; else what CUDA says, with `doing` as in "CUDA failed launching tik_rms_norm".
inline std::optional<Refusal> device_error(char const* doing, cudaError_t error) {
  if (error == cudaSuccess) return std::nullopt;
  return Refusal{TIK_DEVICE_ERROR, validation::sentence("CUDA failed ", doing, ": ", cudaGetErrorString(error), " (",
                                                        cudaGetErrorName(error), ").")};
}

// Kernels and their arithmetic are for compute capability 9.0: what was measured of tensor cores holds nowhere else.
inline std::optional<Refusal> check_device() {
  int device = 0;
  int major = 0;
  int minor = 0;
  if (auto bad = device_error("finding the current device", cudaGetDevice(&device))) return bad;
  char const* const reading = "reading the compute capability";
  if (auto bad = device_error(reading, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device))) return bad;
  if (auto bad = device_error(reading, cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device))) return bad;
  if (major == 9 && minor == 0) return std::nullopt;
  return Refusal{
      TIK_UNSUPPORTED,
      validation::sentence("Device ", device, " has compute capability ", major, ".", minor,
                           ", but this backend is for 9.0 (Hopper): its bits are measured there and would differ here. "
                           "Select a Hopper device or another backend.")};
}

// Refuses with `refusal`, or checks the device and launches: launch() returns a cudaError_t.
template <typename Launch>
tik_status run(char const* launching, std::optional<Refusal> refusal, Launch launch) {
  if (!refusal) refusal = check_device();
  if (!refusal) refusal = device_error(launching, launch());
  return Error::keep(std::move(refusal));
}

// Launches so that blocks may start before the kernel before has ended: every thread of the kernel calls
// wait_for_kernel_before() before it reads or writes memory that another kernel uses. A block has so many bytes of dynamic
// shared memory, at most 48 KiB.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_overlapped_sharing(int shared_bytes, void (*kernel)(Parameters...), dim3 grid, int threads, void* stream,
                                      Arguments const&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// Without dynamic shared memory.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_overlapped(void (*kernel)(Parameters...), dim3 grid, int threads, void* stream,
                              Arguments const&... arguments) {
  return launch_overlapped_sharing(0, kernel, grid, threads, stream, arguments...);
}

#ifdef __CUDACC__
__device__ __forceinline__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// The next kernel may start now, up to its own wait. Called first of all by kernels whose time is mostly latency: where calls
// are short, the kernel after the next is then launched while this one still waits. Every thread waits all the same, so that
// the end of a kernel implies the end of those before it. Kernels that stream weights call it once their loads are under way,
// because the next kernel's weights would come between them.
__device__ __forceinline__ void start_kernel_after() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
#endif

inline constexpr int multiprocessors = 132; // of an H100 SXM or H200; a grid for another number is slower, not wrong

} // namespace tik::operators::sm90
