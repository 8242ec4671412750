#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <sstream>
#include <string>

#include "bench/operators/attention/harness.h"

namespace {

constexpr int threads = 256;
constexpr size_t flush_bytes = size_t{192} << 20; // an H200 has 50 MiB of L2

// The resources of the one bench of a process.
struct Harness {
  cudaEvent_t marks[2] = {};
  void* flush_memory = nullptr;
  cudaError_t error = cudaSuccess;

  Harness() {
    for (auto& mark : marks) {
      if (error == cudaSuccess) error = cudaEventCreate(&mark);
    }
    if (error == cudaSuccess) error = cudaMalloc(&flush_memory, flush_bytes);
  }
};

Harness& harness() {
  static Harness instance;
  return instance;
}

__device__ uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Two normals from one random number.
__global__ void fill_normal_kernel(__nv_bfloat162* data, size_t count, uint64_t seed) {
  for (size_t i = size_t{blockIdx.x} * threads + threadIdx.x; i < count; i += size_t{gridDim.x} * threads) {
    uint64_t const random = mix(seed + i);
    float const radius = sqrtf(-2 * logf((static_cast<uint32_t>(random) + 1.0f) * 0x1p-32f));
    float sine, cosine;
    sincospif(2 * (random >> 32) * 0x1p-32f, &sine, &cosine);
    data[i] = __floats2bfloat162_rn(radius * cosine, radius * sine);
  }
}

__global__ void flush_kernel(uint4* data, size_t count, uint32_t value) {
  size_t const i = size_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count) data[i] = {value, value, value, value};
}

} // namespace

extern "C" {

char const* bench_error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

char const* bench_machine(void) {
  static std::string const text = [] {
    cudaDeviceProp properties = {};
    int driver = 0;
    int runtime = 0;
    cudaGetDeviceProperties(&properties, 0);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    std::ostringstream json;
    json << "{\"gpu\": \"" << properties.name << "\", \"multiprocessors\": " << properties.multiProcessorCount
         << ", \"l2_bytes\": " << properties.l2CacheSize << ", \"cuda_driver\": " << driver << ", \"cuda_runtime\": " << runtime
         << "}";
    return json.str();
  }();
  return text.c_str();
}

int bench_allocate(size_t bytes, void** memory) { return cudaMalloc(memory, bytes); }
int bench_zero(void* memory, size_t bytes) { return cudaMemset(memory, 0, bytes); }
int bench_upload(void* memory, void const* host, size_t bytes) {
  return cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice);
}

int bench_fill_normal(void* memory, size_t bytes, uint64_t seed) {
  fill_normal_kernel<<<4096, threads>>>(static_cast<__nv_bfloat162*>(memory), bytes / sizeof(__nv_bfloat162), seed);
  return cudaGetLastError();
}

int bench_create_stream(void** stream) {
  return cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking);
}

int bench_synchronize(void) { return cudaDeviceSynchronize(); }

int bench_begin_capture(void* stream) {
  return cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal);
}

int bench_end_capture(void* stream, void** graph) {
  cudaGraph_t captured = nullptr;
  cudaError_t error = cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &captured);
  if (error != cudaSuccess) return error;
  error = cudaGraphInstantiate(reinterpret_cast<cudaGraphExec_t*>(graph), captured, 0);
  cudaGraphDestroy(captured);
  return error;
}

int bench_replay(void* graph, void* stream) {
  return cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream));
}

int bench_destroy(void* graph) { return cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }

int bench_flush_cache(void* stream) {
  if (harness().error != cudaSuccess) return harness().error;
  size_t const count = flush_bytes / sizeof(uint4);
  flush_kernel<<<(count + threads - 1) / threads, threads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<uint4*>(harness().flush_memory), count, 1);
  return cudaGetLastError();
}

int bench_mark(int mark, void* stream) {
  if (harness().error != cudaSuccess) return harness().error;
  return cudaEventRecord(harness().marks[mark], static_cast<cudaStream_t>(stream));
}

int bench_elapsed(float* microseconds) {
  cudaError_t error = cudaEventSynchronize(harness().marks[1]);
  float milliseconds = 0;
  if (error == cudaSuccess) error = cudaEventElapsedTime(&milliseconds, harness().marks[0], harness().marks[1]);
  *microseconds = milliseconds * 1000;
  return error;
}
}
