// Launches the strip kernel.
#include <algorithm>

#include "operators/linear/sm90/kernels.h"
#include "operators/linear/sm90/strip_kernel.cuh"
#include "operators/sm90/tensor_map.h"

namespace tik::operators::sm90 {
namespace {

template <int Width, int Chunks>
cudaError_t launch(tik_linear_args const& args, StripCut const& cut) {
  bool const boxed = args.in_features % 64 == 0;
  int const box_chunks = boxed ? Chunks : 1;
  int const laid_rows = boxed ? cut.strip_rows : eights(cut.strip_rows);
  auto const x_map =
      encode_chunk_map(args.x.data, args.tokens, args.in_features, args.x.token_stride, cut.tile_tokens, box_chunks, boxed);
  auto const weight_map = encode_chunk_map(args.weight.data, args.out_features, args.in_features, args.weight.token_stride,
                                           cut.strip_rows, box_chunks, boxed);
  if (!x_map || !weight_map) return cudaErrorInvalidValue;

  int const stages = static_cast<int>(blocks_of(args.in_features, 64 * Chunks));
  int const bytes = stage_bytes(Chunks, cut.tile_tokens, laid_rows);
  int const ring = std::min({stages, largest_ring, cut.ring_bytes / bytes});
  if (ring < std::min(stages, fewest_stages)) return cudaErrorInvalidValue;
  StripParams const params{args.bias,
                           args.out,
                           args.out_stride,
                           args.tokens,
                           args.out_features,
                           stages,
                           ring,
                           cut.tile_tokens,
                           cut.strip_rows,
                           laid_rows,
                           boxed,
                           args.out_type == TIK_FP32,
                           args.weight_settled != 0};

  int const shared_bytes = ring * bytes + overread_bytes;
  auto* const kernel = strip_kernel<Width, Chunks>;
  cudaError_t const error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks_of(args.out_features, cut.strip_rows), blocks_of(args.tokens, cut.tile_tokens));
  config.blockDim = dim3(strip_threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(args.stream);
  config.attrs = &overlap;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, *x_map, *weight_map, params);
}

} // namespace

cudaError_t launch_strip(tik_linear_args const& args, StripCut const& cut) {
  for (int const width : strip_widths) {
    if (width < cut.strip_rows) continue;
    switch (width) {
#define TIK_CASE(width) \
  case width:           \
    return cut.stage_chunks == 2 ? launch<width, 2>(args, cut) : launch<width, 4>(args, cut);
      TIK_STRIP_WIDTHS(TIK_CASE)
#undef TIK_CASE
    }
  }
  return cudaErrorInvalidValue;
}

} // namespace tik::operators::sm90
