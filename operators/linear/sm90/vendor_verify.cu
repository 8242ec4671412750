#include <algorithm>
#include <cfloat>

#include "operators/linear/sm90/kernels.h"
#include "operators/linear/sm90/vendor_verify.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {
namespace {

constexpr int64_t most_outputs = int64_t{1} << 27; // verified at once: 256 MiB of bfloat16
constexpr int most_verified_tokens = 4096;
constexpr int timed_turns = 3;
// Different weights that a timing takes in turns, so that few tokens find them in device memory as a model's layers do.
constexpr int most_weights = 8;
constexpr int64_t most_weight_bytes = int64_t{1} << 28;

// Random signs and fractions, magnitudes from 1/8 to 2.
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

// Device memory, a stream and two events for one verification.
class Bench {
 public:
  Bench() {
    keep(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (auto& mark : marks_) keep(cudaEventCreate(&mark));
    keep(cudaMalloc(&differences_, sizeof *differences_));
  }
  ~Bench() {
    if (stream) cudaStreamSynchronize(stream);
    for (void* const memory : memory_) cudaFree(memory);
    cudaFree(differences_);
    for (auto const mark : marks_) {
      if (mark) cudaEventDestroy(mark);
    }
    if (stream) cudaStreamDestroy(stream);
  }
  Bench(Bench const&) = delete;
  Bench& operator=(Bench const&) = delete;

  void* allocate(int64_t bytes, uint32_t seed) {
    void*& memory = memory_[used_++];
    keep(cudaMalloc(&memory, bytes));
    if (error == cudaSuccess) fill_kernel<<<1024, 256, 0, stream>>>(static_cast<uint32_t*>(memory), bytes / 4, seed);
    return memory;
  }
  unsigned long long differences(void const* a, void const* b, int64_t bytes) {
    unsigned long long count = 0;
    keep(cudaMemsetAsync(differences_, 0, sizeof count, stream));
    count_differences_kernel<<<1024, 256, 0, stream>>>(static_cast<uint32_t const*>(a), static_cast<uint32_t const*>(b),
                                                       bytes / 4, differences_);
    keep(cudaMemcpyAsync(&count, differences_, sizeof count, cudaMemcpyDeviceToHost, stream));
    keep(cudaStreamSynchronize(stream));
    return count;
  }
  // Milliseconds of run(0) .. run(count - 1), the shortest of some turns.
  template <typename Run>
  float fastest(int count, Run run) {
    float best = FLT_MAX;
    for (int turn = 0; turn < timed_turns && error == cudaSuccess; ++turn) {
      keep(cudaEventRecord(marks_[0], stream));
      for (int i = 0; i < count; ++i) run(i);
      keep(cudaEventRecord(marks_[1], stream));
      keep(cudaEventSynchronize(marks_[1]));
      float took = FLT_MAX;
      if (error == cudaSuccess) keep(cudaEventElapsedTime(&took, marks_[0], marks_[1]));
      best = std::min(best, took);
    }
    return best;
  }
  void keep(cudaError_t happened) {
    if (error == cudaSuccess) error = happened;
  }

  cudaStream_t stream = nullptr;
  cudaError_t error = cudaSuccess; // the first

 private:
  void* memory_[6] = {};
  int used_ = 0;
  unsigned long long* differences_ = nullptr;
  cudaEvent_t marks_[2] = {};
};

Refusal differs(tik_linear_args const& args, int suggestion, unsigned long differences, int64_t outputs) {
  return {TIK_DEVICE_ERROR,
          validation::sentence("cuBLASLt ", static_cast<unsigned long>(vendor_library().version()), " computes ", differences,
                               " of ", outputs, " outputs of ", args.tokens, " tokens, in_features ", args.in_features,
                               ", out_features ", args.out_features, " with other bits than the canonical chain (suggestion ",
                               suggestion, "): name another version of the library in TIK_CUBLASLT.")};
}

} // namespace

std::optional<Refusal> choose_verified(tik_linear_args const& args, Suggestions const& suggestions, Algorithm& chosen) {
  char const* const doing = "verifying an algorithm of cuBLASLt for tik_linear";
  tik_linear_args call = args;
  call.tokens = static_cast<int>(
      std::clamp<int64_t>(most_outputs / args.out_features, 1, std::min(token_bucket(args.tokens), most_verified_tokens)));
  int64_t const outputs = int64_t{call.tokens} * args.out_features;
  int64_t const out_bytes = outputs * (args.out_type == TIK_FP32 ? 4 : 2);
  Bench bench;
  call.stream = bench.stream;
  call.x = {static_cast<tik_bf16*>(bench.allocate(int64_t{call.tokens} * args.in_features * 2, 1)), args.in_features, 0};
  int64_t const weight_size = int64_t{args.out_features} * args.in_features;
  int const weights = static_cast<int>(std::clamp<int64_t>(most_weight_bytes / (2 * weight_size), 1, most_weights));
  auto* const weight = static_cast<tik_bf16*>(bench.allocate(weights * weight_size * 2, 2));
  call.weight = {weight, args.in_features, 0};
  if (args.bias) call.bias = static_cast<tik_bf16*>(bench.allocate(int64_t{args.out_features} * 2, 3));
  call.out_stride = args.out_features;
  if (args.workspace) call.workspace = bench.allocate(TIK_LINEAR_WORKSPACE_BYTES, 6);
  void* const expected = bench.allocate(out_bytes, 4);
  call.out = bench.allocate(out_bytes, 5);
  tik_linear_args simple = call;
  simple.out = expected;
  if (bench.error == cudaSuccess) bench.keep(launch_simple(simple));
  if (auto bad = device_error(doing, bench.error)) return bad;

  float best = FLT_MAX;
  int fastest = -1;
  for (int i = 0; i < suggestions.count; ++i) {
    if (multiply(forward_product(call), suggestions.algorithms[i], bench.stream)) continue; // not for so few tokens
    float const took = bench.fastest(weights, [&](int turn) {
      tik_linear_args with_other_weight = call;
      with_other_weight.weight.data = weight + turn * weight_size;
      multiply(forward_product(with_other_weight), suggestions.algorithms[i], bench.stream);
    });
    if (took < best) best = took, fastest = i;
  }
  if (auto bad = device_error(doing, bench.error)) return bad;
  if (fastest < 0) {
    return Refusal{TIK_UNSUPPORTED,
                   validation::sentence("cuBLASLt offers no algorithm without split-K for tokens ", args.tokens,
                                        ", in_features ", args.in_features, ", out_features ", args.out_features, ".")};
  }
  bench.keep(cudaMemsetAsync(call.out, 0xff, out_bytes, bench.stream));
  if (auto bad = multiply(forward_product(call), suggestions.algorithms[fastest], bench.stream)) return bad;
  auto const different = static_cast<unsigned long>(bench.differences(expected, call.out, out_bytes));
  if (auto bad = device_error(doing, bench.error)) return bad;
  if (different > 0) return differs(call, fastest, different, outputs);
  chosen = suggestions.algorithms[fastest];
  return std::nullopt;
}

} // namespace tik::operators::sm90
