#include <cuda_bf16.h>

#include "tests/gpu/source.h"

namespace tik::gpu_suite {
namespace {

constexpr int threads = 256;
constexpr int dominant_key = 5;

__device__ float uniform(uint64_t bits) { return (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f; }

__device__ float normal(uint64_t key) {
  return sqrtf(-2 * logf(uniform(mix(key)))) * cospif(2 * uniform(mix(key ^ 0x5851f42d4c957f2dull)));
}

__device__ float sample(Source source, Tensor tensor, int token, int head, int column) {
  bool const is_value = tensor == Tensor::value;
  if (source.distribution == Distribution::equal && tensor == Tensor::key) token = 0;
  uint64_t const key = mix(source.seed) ^ mix(static_cast<uint64_t>(token) << 24 | static_cast<uint64_t>(head) << 12 |
                                              static_cast<uint64_t>(column) << 2 | static_cast<uint64_t>(tensor));
  float const x = normal(key);
  uint64_t const choice = mix(key ^ 0x2545f4914f6cdd1dull);
  float const direction = mix(source.seed ^ column) % 2 == 0 ? 1.0f : -1.0f;
  switch (source.distribution) {
    case Distribution::normal:
    case Distribution::equal:
      return x;
    case Distribution::large:
      return x * (is_value ? 256.0f : 8.0f);
    case Distribution::dominant: {
      if (tensor == Tensor::query) return x + direction;
      return tensor == Tensor::key && token == dominant_key ? 6 * direction : x;
    }
    case Distribution::binades:
      return ldexpf(x, static_cast<int>(choice % 21) - (is_value ? 10 : 17));
    case Distribution::sparse:
      return choice % 4 == 0 ? 0.0f : choice % 4 == 1 ? -0.0f : x;
    case Distribution::tiny:
      return is_value ? ldexpf(x, -120 - static_cast<int>(choice % 14)) : x;
    case Distribution::rising: {
      if (is_value) return x;
      float const start = -6.0f + static_cast<float>(mix(source.seed) % 8);
      return x + direction * (tensor == Tensor::query ? 1.0f : start + 0.0015f * token);
    }
    case Distribution::remote:
      return is_value || column != 0 ? x : tensor == Tensor::query ? 2048.0f : 8192.0f;
  }
  return x;
}

__global__ void write_tokens_kernel(Source source, Tensor tensor, Placement to, int begin, int64_t elements) {
  int64_t const index = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (index >= elements) return;
  int const column = index % to.head_dim;
  int const head = index / to.head_dim % to.heads;
  int const token = begin + static_cast<int>(index / to.head_dim / to.heads);
  __nv_bfloat16 const x = __float2bfloat16_rn(sample(source, tensor, token, head, column));
  to.base[to.token_offsets[token] + head * to.head_stride + column] = __bfloat16_as_ushort(x);
}

__global__ void checksum_kernel(uint16_t const* data, std::size_t count, unsigned long long* sum) {
  unsigned long long local = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < count; i += std::size_t{gridDim.x} * threads) {
    local += mix(i << 16 | data[i]);
  }
  for (int offset = 16; offset > 0; offset /= 2) local += __shfl_down_sync(~0u, local, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, local);
}

} // namespace

char const* name(Distribution distribution) {
  switch (distribution) {
    case Distribution::normal:
      return "normal";
    case Distribution::large:
      return "large";
    case Distribution::dominant:
      return "dominant";
    case Distribution::equal:
      return "equal";
    case Distribution::binades:
      return "binades";
    case Distribution::sparse:
      return "sparse";
    case Distribution::tiny:
      return "tiny";
    case Distribution::rising:
      return "rising";
    case Distribution::remote:
      return "remote";
  }
  return "";
}

void write_tokens(Source source, Tensor tensor, Placement placement, int begin, int end) {
  int64_t const elements = int64_t{end - begin} * placement.heads * placement.head_dim;
  if (elements <= 0) return;
  write_tokens_kernel<<<(elements + threads - 1) / threads, threads>>>(source, tensor, placement, begin, elements);
  require(cudaGetLastError(), "writing tokens");
}

void add_checksum(void const* data, std::size_t bytes, uint64_t* sum) {
  if (bytes == 0) return;
  checksum_kernel<<<256, threads>>>(static_cast<uint16_t const*>(data), bytes / 2, reinterpret_cast<unsigned long long*>(sum));
  require(cudaGetLastError(), "summing a buffer");
}

} // namespace tik::gpu_suite
