// RMSNorm on Hopper: which kernel takes a call, and its launch.
#include "operators/functions.h"
#include "operators/rms_norm/sm90/narrow_kernel.cuh"
#include "operators/rms_norm/sm90/wide_kernel.cuh"
#include "operators/rms_norm/validate.h"

namespace tik::operators::sm90 {
namespace {

NormParams norm_params(tik_rms_norm_args const& args) {
  return {places(args.x),
          places(args.residual),
          args.weight,
          args.weight_settled != 0,
          places(args.sum),
          places(args.out),
          args.tokens * args.heads,
          Divisor(args.heads),
          args.columns,
          rms_norm::inverse_columns(args.columns),
          args.epsilon};
}

template <int Lanes>
cudaError_t launch_narrow(NormParams const& params, void* stream) {
  constexpr int rows_a_block = narrow_threads / Lanes;
  auto* const kernel = params.residual.data ? narrow_rms_norm_kernel<Lanes, true> : narrow_rms_norm_kernel<Lanes, false>;
  return launch_overlapped(kernel, dim3((params.rows + rows_a_block - 1) / rows_a_block), narrow_threads, stream, params);
}

template <int Chunks, int Groups>
cudaError_t launch_wide(NormParams const& params, void* stream) {
  int const chunks = params.columns / chunk_columns;
  int const warps = (chunks + Chunks * warp_threads - 1) / (Chunks * warp_threads);
  auto* const kernel =
      params.residual.data ? wide_rms_norm_kernel<Chunks, Groups, true> : wide_rms_norm_kernel<Chunks, Groups, false>;
  return launch_overlapped(kernel, dim3(params.rows), warps * warp_threads, stream, params);
}

// More chunks a thread spare threads that all compute the same root, and let more rows be on their way at once; fewer are the
// shorter way through one row. Blocks that come in a second round cost more than either: at 4096 columns that begins after five
// blocks of two chunks a thread on each multiprocessor, or three of one.
template <int Groups>
cudaError_t launch_wide_rows(NormParams const& params, void* stream) {
  bool const many_columns = params.columns >= 3072;
  if (params.residual.data) {
    if (params.columns <= 2048 || params.rows <= 3 * multiprocessors) return launch_wide<1, Groups>(params, stream);
    return many_columns ? launch_wide<4, Groups>(params, stream) : launch_wide<2, Groups>(params, stream);
  }
  bool const many = many_columns && params.rows > 5 * multiprocessors;
  return many ? launch_wide<4, Groups>(params, stream) : launch_wide<2, Groups>(params, stream);
}

cudaError_t launch(NormParams const& params, void* stream) {
  if (params.columns <= 64) return launch_narrow<4>(params, stream);
  if (params.columns <= 128) return launch_narrow<8>(params, stream);
  if (params.columns <= 256) return launch_narrow<16>(params, stream);
  if (params.columns <= 2048) return launch_wide_rows<8>(params, stream);
  if (params.columns <= 4096) return launch_wide_rows<16>(params, stream);
  return launch_wide_rows<32>(params, stream);
}

} // namespace

tik_status rms_norm(tik_rms_norm_args const* args) {
  return run("launching tik_rms_norm", rms_norm::validate(args), [&] { return launch(norm_params(*args), args->stream); });
}

} // namespace tik::operators::sm90
