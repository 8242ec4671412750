// Launches the strip kernel.
#include <algorithm>

#include "operators/linear/sm90/kernels.h"
#include "operators/linear/sm90/strip_kernel.cuh"
#include "operators/sm90/tensor_map.h"

namespace tik::operators::sm90 {
namespace {

template <int Width>
cudaError_t launch(tik_linear_args const& args, StripCut const& cut) {
  auto const x_map =
      encode_matrix_map(args.x.data, args.tokens, args.in_features, args.x.token_stride, cut.tile_tokens / cut.x_sharers);
  auto const weight_map = encode_matrix_map(args.weight.data, args.out_features, args.in_features, args.weight.token_stride,
                                            cut.strip_rows / cut.strip_sharers);
  if (!x_map || !weight_map) return cudaErrorInvalidValue;

  int const stages = static_cast<int>(blocks_of(args.in_features, 64 * stage_chunks));
  int const bytes = stage_bytes(cut.tile_tokens, cut.strip_rows);
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
                           cut.x_sharers,
                           cut.strip_sharers,
                           args.out_type == TIK_FP32,
                           args.weight_settled != 0};

  int const shared_bytes = ring * bytes + overread_bytes;
  auto* const kernel = strip_kernel<Width>;
  cudaError_t const error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(cut.x_sharers), static_cast<unsigned>(cut.strip_sharers), 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks_of(blocks_of(args.out_features, cut.strip_rows), cut.x_sharers) * cut.x_sharers,
                        blocks_of(blocks_of(args.tokens, cut.tile_tokens), cut.strip_sharers) * cut.strip_sharers);
  config.blockDim = dim3(strip_threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(args.stream);
  config.attrs = attributes;
  config.numAttrs = cut.x_sharers * cut.strip_sharers > 1 ? 2 : 1;
  return cudaLaunchKernelEx(&config, kernel, *x_map, *weight_map, params);
}

} // namespace

cudaError_t launch_strip(tik_linear_args const& args, StripCut const& cut) {
  for (int const width : strip_widths) {
    if (width < cut.strip_rows) continue;
    switch (width) {
#define TIK_CASE(width) \
  case width:           \
    return launch<width>(args, cut);
      TIK_STRIP_WIDTHS(TIK_CASE)
#undef TIK_CASE
    }
  }
  return cudaErrorInvalidValue;
}

} // namespace tik::operators::sm90
