// The peer of dense linear: cuBLASLt with every algorithm that its heuristic suggests, split-K included, and 64 MiB of
// workspace.
#include <cuda_runtime.h>

#include <string>

#include "operators/linear/sm90/describe_algorithm.h"

namespace {

using tik::operators::sm90::vendor_library;

constexpr size_t workspace_bytes = size_t{64} << 20;
constexpr int most_suggestions = 8;

// The product that is measured now.
struct Peer {
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t weight = nullptr, x = nullptr, out = nullptr;
  cublasLtMatmulHeuristicResult_t suggestions[most_suggestions];
  int count = 0;
};

Peer& peer() {
  static Peer instance;
  return instance;
}

void forget_product() {
  auto const& library = vendor_library();
  if (peer().operation) library.destroy_operation(peer().operation);
  for (auto* layout : {&peer().weight, &peer().x, &peer().out}) {
    if (*layout) library.destroy_layout(*layout);
    *layout = nullptr;
  }
  peer().operation = nullptr;
}

} // namespace

extern "C" {

// Describes out [tokens, out_features] = x times the transpose of weight, dense bfloat16. Returns how many algorithms the
// library suggests, or -1.
int dense_peer_prepare(int tokens, int in_features, int out_features) {
  auto const& library = vendor_library();
  if (!library.problem.empty()) return -1;
  if (!peer().handle) {
    if (library.create(&peer().handle) != CUBLAS_STATUS_SUCCESS) return -1;
    if (cudaMalloc(&peer().workspace, workspace_bytes) != cudaSuccess) return -1;
  }
  forget_product();
  cublasOperation_t const transposed = CUBLAS_OP_T;
  library.create_operation(&peer().operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  library.set_operation(peer().operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
  library.create_layout(&peer().weight, CUDA_R_16BF, in_features, out_features, in_features);
  library.create_layout(&peer().x, CUDA_R_16BF, in_features, tokens, in_features);
  library.create_layout(&peer().out, CUDA_R_16BF, out_features, tokens, out_features);
  cublasLtMatmulPreference_t preference = nullptr;
  library.create_preference(&preference);
  library.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes);
  cublasStatus_t const status =
      library.find_algorithms(peer().handle, peer().operation, peer().weight, peer().x, peer().out, peer().out, preference,
                              most_suggestions, peer().suggestions, &peer().count);
  library.destroy_preference(preference);
  return status == CUBLAS_STATUS_SUCCESS ? peer().count : -1;
}

// Launches by one of the suggestions; 0 on success.
int dense_peer_launch(int suggestion, void const* x, void const* weight, void* out, void* stream) {
  float const one = 1, zero = 0;
  return vendor_library().multiply(peer().handle, peer().operation, &one, weight, peer().weight, x, peer().x, &zero, out,
                                   peer().out, out, peer().out, &peer().suggestions[suggestion].algo, peer().workspace,
                                   workspace_bytes, static_cast<cudaStream_t>(stream));
}

// What a suggestion is, as tik_linear_plan says it of the same algorithm: a line that ends with a zero, in `bytes` of `text`.
void dense_peer_describe(int suggestion, char* text, size_t bytes) {
  std::string const line = tik::operators::sm90::describe(peer().suggestions[suggestion].algo);
  text[line.copy(text, bytes - 1)] = 0;
}

// The library's version, as 10000 * major + 100 * minor + patch.
size_t dense_peer_version() { return vendor_library().problem.empty() ? vendor_library().version() : 0; }
}
