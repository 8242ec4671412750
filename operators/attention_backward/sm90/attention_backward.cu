// The gradients of attention on Hopper: numbers of every query row, then the gradient of queries, then those of keys and
// values.
#include "operators/attention_backward/sm90/kernels.h"
#include "operators/attention_backward/sm90/numerics.cuh"
#include "operators/attention_backward/validate.h"
#include "operators/functions.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {
namespace {

using Args = tik_attention_full_backward_args;

attention_backward::Params params_of(Args const& args) {
  attention_backward::Params params{};
  params.queries = places(args.queries);
  params.keys = places(args.keys);
  params.values = places(args.values);
  params.out = places(args.out);
  params.out_gradient = places(args.out_gradient);
  params.query_gradient = places(args.query_gradient);
  params.key_gradient = places(args.key_gradient);
  params.value_gradient = places(args.value_gradient);
  params.offsets = args.query_offsets;
  params.lse = args.lse;
  params.lse_log2 = static_cast<float*>(args.workspace);
  params.mean = params.lse_log2 + int64_t{args.tokens} * args.shape.query_heads;
  params.batch = args.batch;
  params.tokens = args.tokens;
  params.query_heads = args.shape.query_heads;
  params.kv_heads = args.shape.kv_heads;
  params.softmax_scale = args.shape.softmax_scale;
  params.scale_log2 = attention::sm90::scale_log2(args.shape.softmax_scale);
  return params;
}

cudaError_t launch(Args const& args) {
  auto const params = params_of(args);
  auto* const stream = static_cast<cudaStream_t>(args.stream);
  int const dim = args.shape.head_dim;
  if (cudaError_t const error = attention_backward::launch_means(params, dim, stream)) return error;
  if (cudaError_t const error = attention_backward::launch_query_gradient(params, dim, args.longest, stream)) return error;
  return attention_backward::launch_key_value_gradient(params, dim, args.longest, stream);
}

} // namespace

tik_status attention_full_backward(Args const* args) {
  return run("launching tik_attention_full_backward", attention_backward::validate(args), [&] { return launch(*args); });
}

} // namespace tik::operators::sm90
