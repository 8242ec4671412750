// The two limits that a kernel cannot beat: reading the bytes, and the rate of the tensor cores.
#include <cuda_runtime.h>

#include "bench/operators/attention/harness.h"
#include "tests/gpu/wgmma.h"

namespace {

constexpr int read_threads = 256;

// A word that no sum of random data equals: keeps the compiler from dropping the loads.
constexpr uint32_t never = 0x13572468;

template <int loads>
__global__ void __launch_bounds__(read_threads)
    read_kernel(uint4 const* keys, uint4 const* values, size_t count, uint32_t* sink) {
  uint4 const* const data = blockIdx.y == 0 ? keys : values;
  size_t const first = size_t{blockIdx.x} * read_threads * loads + threadIdx.x;
  uint4 words[loads];
#pragma unroll
  for (int i = 0; i < loads; ++i) {
    size_t const at = first + i * read_threads;
    words[i] = at < count ? __ldcs(&data[at]) : uint4{};
  }
  uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < loads; ++i) sum ^= words[i].x ^ words[i].y ^ words[i].z ^ words[i].w;
  if (sum == never) *sink = sum;
}

template <int loads>
int launch_read(void const* keys, void const* values, size_t bytes, cudaStream_t stream, uint32_t* sink) {
  size_t const count = bytes / sizeof(uint4);
  dim3 const grid((count + read_threads * loads - 1) / (read_threads * loads), 2);
  read_kernel<loads>
      <<<grid, read_threads, 0, stream>>>(static_cast<uint4 const*>(keys), static_cast<uint4 const*>(values), count, sink);
  return cudaGetLastError();
}

constexpr int groups = 2; // warp groups of a block, as in the kernel that the limit is for
constexpr int steps = 4;  // k16 steps of resident operands
constexpr int a_rows = 64;
constexpr int columns = 256;

struct Operands {
  alignas(128) uint16_t a[groups][a_rows * 16 * steps];
  alignas(128) uint16_t b[columns * 16 * steps];
};

// Random operands, because a tensor core that multiplies zeros draws less power and runs faster.
__global__ void __launch_bounds__(128 * groups, 1) matrix_kernel(int iterations, float* sink) {
  extern __shared__ __align__(128) unsigned char memory[];
  auto& operands = *reinterpret_cast<Operands*>(memory);
  auto* const words = reinterpret_cast<uint16_t*>(memory);
  uint32_t random = blockIdx.x * 7919 + threadIdx.x;
  for (size_t i = threadIdx.x; i < sizeof(Operands) / 2; i += blockDim.x) {
    random = random * 1664525 + 1013904223;
    words[i] = (random >> 16 & 0x80ff) | 0x3f00; // 0.5 to 2, both signs
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  constexpr uint32_t core_bytes = 128;
  constexpr uint32_t along_rows = 2 * steps * core_bytes;
  float d[128] = {};
  for (int i = 0; i < iterations; ++i) {
    tik::gpu_suite::wgmma_fence();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      uint64_t const a = tik::gpu_suite::tile_descriptor(operands.a[threadIdx.x / 128] + step * 128, core_bytes, along_rows);
      uint64_t const b = tik::gpu_suite::tile_descriptor(operands.b + step * 128, core_bytes, along_rows);
      tik::gpu_suite::Wgmma<256>::run(d, a, b, 1);
    }
    tik::gpu_suite::wgmma_wait();
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 128; ++i) sum += d[i];
  if (sum == 0.123f) *sink = sum;
}

void* sink() {
  static void* const memory = [] {
    void* allocated = nullptr;
    cudaMalloc(&allocated, 256);
    return allocated;
  }();
  return memory;
}

} // namespace

extern "C" {

int bench_read(void const* keys, void const* values, size_t bytes, int loads, void* stream) {
  auto const on = static_cast<cudaStream_t>(stream);
  auto* const target = static_cast<uint32_t*>(sink());
  switch (loads) {
    case 1:
      return launch_read<1>(keys, values, bytes, on, target);
    case 2:
      return launch_read<2>(keys, values, bytes, on, target);
    case 4:
      return launch_read<4>(keys, values, bytes, on, target);
    case 8:
      return launch_read<8>(keys, values, bytes, on, target);
    default:
      return cudaErrorInvalidValue;
  }
}

int bench_matrix(int iterations, double* operations, void* stream) {
  int multiprocessors = 0;
  cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  if (error == cudaSuccess) {
    error = cudaFuncSetAttribute(matrix_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Operands));
  }
  if (error != cudaSuccess) return error;
  matrix_kernel<<<multiprocessors, 128 * groups, sizeof(Operands), static_cast<cudaStream_t>(stream)>>>(
      iterations, static_cast<float*>(sink()));
  *operations = 2.0 * a_rows * columns * 16 * steps * groups * multiprocessors * iterations;
  return cudaGetLastError();
}
}
