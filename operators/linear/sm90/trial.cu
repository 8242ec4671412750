#include "operators/linear/sm90/trial.h"

namespace tik::operators::sm90 {
namespace {

// What a launch takes of the host, generously.
constexpr int64_t launch_ns = 12000;

__global__ void wait_kernel(int64_t ns) {
  int64_t begin = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}

__global__ void fill_kernel(uint32_t* words, int64_t count, uint32_t seed) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    uint32_t random = static_cast<uint32_t>(i) * 0x9e3779b9u + seed;
    random = (random ^ random >> 16) * 0x7feb352du;
    random = (random ^ random >> 15) * 0x846ca68bu;
    random ^= random >> 16;
    words[i] = (random & 0x81ff81ffu) + 0x3e003e00u;
  }
}

__global__ void count_differences_kernel(uint32_t const* a, uint32_t const* b, int64_t count, unsigned long long* differences) {
  unsigned long long found = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    found += a[i] != b[i];
  }
  if (found > 0) atomicAdd(differences, found);
}

} // namespace

Trial::Trial() {
  keep(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (auto& mark : marks_) keep(cudaEventCreate(&mark));
  keep(cudaMalloc(&differences_, sizeof *differences_));
}

Trial::~Trial() {
  if (stream) cudaStreamSynchronize(stream);
  for (void* const memory : memory_) cudaFree(memory);
  cudaFree(differences_);
  for (auto const mark : marks_) {
    if (mark) cudaEventDestroy(mark);
  }
  if (stream) cudaStreamDestroy(stream);
}

void* Trial::allocate(int64_t bytes, uint32_t seed) {
  void* memory = nullptr;
  if (error == cudaSuccess) keep(cudaMalloc(&memory, bytes));
  memory_.push_back(memory);
  if (error == cudaSuccess) fill_kernel<<<1024, 256, 0, stream>>>(static_cast<uint32_t*>(memory), bytes / 4, seed);
  return memory;
}

unsigned long long Trial::differences(void const* a, void const* b, int64_t bytes) {
  unsigned long long count = 0;
  keep(cudaMemsetAsync(differences_, 0, sizeof count, stream));
  count_differences_kernel<<<1024, 256, 0, stream>>>(static_cast<uint32_t const*>(a), static_cast<uint32_t const*>(b),
                                                     bytes / 4, differences_);
  keep(cudaMemcpyAsync(&count, differences_, sizeof count, cudaMemcpyDeviceToHost, stream));
  keep(cudaStreamSynchronize(stream));
  return count;
}

void Trial::hold_up(int launches) { wait_kernel<<<1, 1, 0, stream>>>((launches + 4) * launch_ns); }

float Trial::since_mark_ms() {
  float took = 0;
  keep(cudaEventRecord(marks_[1], stream));
  keep(cudaEventSynchronize(marks_[1]));
  if (error == cudaSuccess) keep(cudaEventElapsedTime(&took, marks_[0], marks_[1]));
  return took;
}

} // namespace tik::operators::sm90
