// The part of the CUDA driver that a GPU worker uses, found at run time: a program with this inside needs no CUDA to be built
// or to start. Types and values are those of the driver's stable binary interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/error.h"

namespace tik::evaluator::cuda {

using Status = int;                 // CUresult; 0 is success
using Pointer = unsigned long long; // CUdeviceptr
struct ContextHandle;
struct StreamHandle;
struct EventHandle;
struct GraphHandle;
struct GraphExecHandle;
struct GraphNodeHandle;
struct FunctionHandle;
struct KernelHandle;
struct ModuleHandle;
using Context = ContextHandle*;
using Stream = StreamHandle*;
using Event = EventHandle*;
using Graph = GraphHandle*;
using GraphExec = GraphExecHandle*;
using GraphNode = GraphNodeHandle*;
using Function = FunctionHandle*;
using Kernel = KernelHandle*;
using Module = ModuleHandle*;

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNode {
  Function function;
  unsigned grid[3], block[3];
  unsigned dynamic_shared_bytes;
  void** parameters;
  void** extra;
  Kernel kernel; // when `function` is null
  Context context;
};

enum DeviceAttribute : int {
  multiprocessors = 16,
  l2_cache_bytes = 38,
  threads_a_multiprocessor = 39,
  capability_major = 75,
  capability_minor = 76,
  shared_bytes_a_multiprocessor = 81,
  registers_a_multiprocessor = 82,
  blocks_a_multiprocessor = 106,
  reserved_shared_bytes_a_block = 111,
};
enum FunctionAttribute : int { static_shared_bytes = 1, local_bytes = 3, registers = 4 };
inline constexpr int kernel_node = 0;    // CU_GRAPH_NODE_TYPE_KERNEL
inline constexpr int capture_global = 0; // CU_STREAM_CAPTURE_MODE_GLOBAL
inline constexpr unsigned default_flags = 0;
inline constexpr int persisting_l2_bytes = 6;                          // CU_LIMIT_PERSISTING_L2_CACHE_SIZE
inline constexpr unsigned register_mapped = 2, register_read_only = 8; // CU_MEMHOSTREGISTER_...

// The functions, by the names of the driver without their prefix.
struct Driver {
  Status (*Init)(unsigned);
  Status (*DriverGetVersion)(int*);
  Status (*DeviceGet)(int*, int);
  Status (*DeviceGetName)(char*, int, int);
  Status (*DeviceGetAttribute)(int*, int, int);
  Status (*DevicePrimaryCtxRetain)(Context*, int);
  Status (*CtxSetCurrent)(Context);
  Status (*CtxSynchronize)();
  Status (*CtxResetPersistingL2Cache)();
  Status (*CtxSetLimit)(int, std::size_t);
  Status (*MemAlloc)(Pointer*, std::size_t);
  Status (*MemFree)(Pointer);
  Status (*MemcpyHtoD)(Pointer, void const*, std::size_t);
  Status (*MemcpyHtoDAsync)(Pointer, void const*, std::size_t, Stream);
  Status (*MemcpyDtoH)(void*, Pointer, std::size_t);
  Status (*MemsetD16Async)(Pointer, unsigned short, std::size_t, Stream);
  Status (*MemHostRegister)(void*, std::size_t, unsigned);
  Status (*MemHostGetDevicePointer)(Pointer*, void*, unsigned);
  Status (*ModuleLoadData)(Module*, void const*);
  Status (*ModuleGetFunction)(Function*, Module, char const*);
  Status (*LaunchKernel)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                         void**);
  Status (*StreamCreate)(Stream*, unsigned);
  Status (*StreamSynchronize)(Stream);
  Status (*StreamBeginCapture)(Stream, int);
  Status (*StreamEndCapture)(Stream, Graph*);
  Status (*EventCreate)(Event*, unsigned);
  Status (*EventRecord)(Event, Stream);
  Status (*EventElapsedTime)(float*, Event, Event);
  Status (*GraphInstantiate)(GraphExec*, Graph, unsigned long long);
  Status (*GraphUpload)(GraphExec, Stream);
  Status (*GraphLaunch)(GraphExec, Stream);
  Status (*GraphExecDestroy)(GraphExec);
  Status (*GraphDestroy)(Graph);
  Status (*GraphGetNodes)(Graph, GraphNode*, std::size_t*);
  Status (*GraphNodeGetType)(GraphNode, int*);
  Status (*GraphKernelNodeGetParams)(GraphNode, KernelNode*);
  Status (*FuncGetAttribute)(int*, int, Function);
  Status (*FuncGetName)(char const**, Function);
  Status (*KernelGetFunction)(Function*, Kernel);
  Status (*OccupancyMaxActiveBlocksPerMultiprocessor)(int*, Function, int, std::size_t);
  Status (*GetErrorName)(Status, char const**);
  Status (*GetErrorString)(Status, char const**);

  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string describe(Status status) const;
};

// Loads libcuda.so.1; the error says what is missing.
Result<Driver> load_driver();

} // namespace tik::evaluator::cuda
