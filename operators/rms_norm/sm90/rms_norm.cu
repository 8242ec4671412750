// RMSNorm on Hopper: which kernel takes a call, and its launch.
#include "operators/functions.h"
#include "operators/rms_norm/sm90/narrow_kernel.cuh"
#include "operators/rms_norm/sm90/wide_kernel.cuh"
#include "operators/rms_norm/validate.h"

namespace tik::operators::sm90 {
namespace {

NormParams norm_params(tik_rms_norm_args const& args) {
  return {places(args.x),      places(args.residual), args.weight,
          places(args.sum),    places(args.out),      args.tokens * args.heads,
          Divisor(args.heads), args.columns,          rms_norm::inverse_columns(args.columns),
          args.epsilon};
}

template <int Lanes, int Rows>
cudaError_t launch_narrow(NormParams const& params, void* stream) {
  constexpr int rows_a_block = narrow_threads / Lanes * Rows;
  auto* const kernel =
      params.residual.data ? narrow_rms_norm_kernel<Lanes, Rows, true> : narrow_rms_norm_kernel<Lanes, Rows, false>;
  return launch_overlapped(kernel, dim3((params.rows + rows_a_block - 1) / rows_a_block), narrow_threads, stream, params);
}

template <int Lanes>
cudaError_t launch_narrow_rows(NormParams const& params, void* stream) {
  constexpr int few = multiprocessors * narrow_threads / Lanes; // a row a thread still fills every multiprocessor
  return params.rows <= few ? launch_narrow<Lanes, 1>(params, stream) : launch_narrow<Lanes, 2>(params, stream);
}

template <int Chunks, int Groups>
cudaError_t launch_wide(NormParams const& params, void* stream) {
  int const chunks = params.columns / chunk_columns;
  int const warps = (chunks + Chunks * warp_threads - 1) / (Chunks * warp_threads);
  auto* const kernel =
      params.residual.data ? wide_rms_norm_kernel<Chunks, Groups, true> : wide_rms_norm_kernel<Chunks, Groups, false>;
  return launch_overlapped(kernel, dim3(params.rows), warps * warp_threads, stream, params);
}

// One chunk a thread is the shortest way through a row. More of them spare threads that all compute the same root where there
// are rows enough, as long as a block keeps three warps or so.
template <int Groups>
cudaError_t launch_wide_rows(NormParams const& params, void* stream) {
  bool const few = params.rows <= multiprocessors;
  if (few || (params.residual.data && params.columns <= 2048)) return launch_wide<1, Groups>(params, stream);
  return params.columns < 3072 ? launch_wide<2, Groups>(params, stream) : launch_wide<4, Groups>(params, stream);
}

cudaError_t launch(NormParams const& params, void* stream) {
  if (params.columns <= 64) return launch_narrow_rows<4>(params, stream);
  if (params.columns <= 128) return launch_narrow_rows<8>(params, stream);
  if (params.columns <= 256) return launch_narrow_rows<16>(params, stream);
  if (params.columns <= 2048) return launch_wide_rows<8>(params, stream);
  if (params.columns <= 4096) return launch_wide_rows<16>(params, stream);
  return launch_wide_rows<32>(params, stream);
}

} // namespace

tik_status rms_norm(tik_rms_norm_args const* args) {
  return run("launching tik_rms_norm", rms_norm::validate(args), [&] { return launch(norm_params(*args), args->stream); });
}

} // namespace tik::operators::sm90
