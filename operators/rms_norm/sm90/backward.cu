// The gradients of RMSNorm on Hopper: which kernels take a call, and their launches.
#include "operators/functions.h"
#include "operators/rms_norm/sm90/backward_kernel.cuh"
#include "operators/rms_norm/validate.h"

namespace tik::operators::sm90 {
namespace {

NormBackwardParams backward_params(tik_rms_norm_backward_args const& args) {
  return {places(args.x),
          args.weight,
          places(args.out_gradient),
          places(args.sum_gradient),
          places(args.x_gradient),
          args.weight_gradient ? static_cast<float*>(args.workspace) : nullptr,
          args.tokens * args.heads,
          Divisor(args.heads),
          args.columns,
          rms_norm::inverse_columns(args.columns),
          args.epsilon};
}

template <int Lanes>
cudaError_t launch_narrow(NormBackwardParams const& params, unsigned blocks, void* stream) {
  constexpr int threads = 128;
  constexpr unsigned workers = threads / Lanes;
  return launch_overlapped(narrow_rms_norm_backward_kernel<Lanes>, dim3((blocks + workers - 1) / workers), threads, stream,
                           params);
}

template <int Groups>
cudaError_t launch_wide(NormBackwardParams const& params, unsigned blocks, void* stream) {
  int const warps = (params.columns / chunk_columns + warp_threads - 1) / warp_threads;
  return launch_overlapped(wide_rms_norm_backward_kernel<Groups>, dim3(blocks), warps * warp_threads, stream, params);
}

cudaError_t launch_rows(NormBackwardParams const& params, unsigned blocks, void* stream) {
  if (params.columns <= 64) return launch_narrow<8>(params, blocks, stream);
  if (params.columns <= 128) return launch_narrow<16>(params, blocks, stream);
  if (params.columns <= 256) return launch_narrow<32>(params, blocks, stream);
  if (params.columns <= 2048) return launch_wide<8>(params, blocks, stream);
  if (params.columns <= 4096) return launch_wide<16>(params, blocks, stream);
  return launch_wide<32>(params, blocks, stream);
}

cudaError_t launch_sum(float const* in, int rows, int span_rows, int columns, bool onto, float* out, void* stream) {
  constexpr int threads = 256;
  dim3 const grid((columns + threads - 1) / threads, (rows + span_rows - 1) / span_rows);
  return launch_overlapped(sum_rows_kernel, grid, threads, stream, in, rows, span_rows, columns, onto, out);
}

cudaError_t launch(tik_rms_norm_backward_args const& args) {
  NormBackwardParams const params = backward_params(args);
  auto const blocks = static_cast<int>(rms_norm::weight_blocks(params.rows));
  if (cudaError_t const error = launch_rows(params, blocks, args.stream); error != cudaSuccess) return error;
  if (!params.weight_blocks) return cudaSuccess;
  auto const spans = static_cast<int>(rms_norm::weight_spans(params.rows));
  float* const sums = params.weight_blocks + int64_t{blocks} * args.columns;
  cudaError_t const error =
      launch_sum(params.weight_blocks, blocks, rms_norm::span_blocks, args.columns, false, sums, args.stream);
  if (error != cudaSuccess) return error;
  return launch_sum(sums, spans, spans, args.columns, true, args.weight_gradient, args.stream);
}

} // namespace

tik_status rms_norm_backward(tik_rms_norm_backward_args const* args) {
  return run("launching tik_rms_norm_backward", rms_norm::validate(args), [&] { return launch(*args); });
}

} // namespace tik::operators::sm90
