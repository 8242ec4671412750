// The kernels of attention's backward and what they take.
#pragma once

#include "operators/attention_backward/contract.h"
#include "operators/sm90/rows.cuh"

namespace tik::operators::attention_backward {

struct Params {
  sm90::SourceRows queries, keys, values, out, out_gradient;
  sm90::TargetRows query_gradient, key_gradient, value_gradient;
  int32_t const* offsets;
  float const* lse; // [tokens, query_heads]
  float* lse_log2;  // [query_heads, tokens]
  float* mean;      // [query_heads, tokens]: <out_gradient, out>
  int batch, tokens, query_heads, kv_heads;
  float softmax_scale, scale_log2;
};

// Each on `stream`, in this order. `longest` is the contract's.
cudaError_t launch_means(Params const& params, int head_dim, cudaStream_t stream);
cudaError_t launch_query_gradient(Params const& params, int head_dim, int longest, cudaStream_t stream);
cudaError_t launch_key_value_gradient(Params const& params, int head_dim, int longest, cudaStream_t stream);

#ifdef __CUDACC__
// The sequence of a block, and its tile of 64 rows.
struct Sequence {
  int first, tokens;
};
__device__ __forceinline__ Sequence sequence_of(Params const& params, int number) {
  int const first = params.offsets[number];
  return {first, params.offsets[number + 1] - first};
}
#endif

} // namespace tik::operators::attention_backward
