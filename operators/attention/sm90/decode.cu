// The host side of decode: grid, workspace, choice of the variant, launch.
#include <algorithm>
#include <cstdint>

#include "operators/attention/sm90/decode_kernel.cuh"
#include "operators/attention/sm90/decode_tile.cuh"
#include "operators/attention/sm90/decode_variant.h"
#include "operators/attention/sm90/dispatch.h"
#include "operators/attention/sm90/launch.h"

namespace tik::attention::sm90 {
namespace {

constexpr int64_t alignment = 256;
int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Where each piece of the workspace starts. The same for every variant.
struct Workspace {
  int64_t arrivals, partial_state, partial_output, bytes;
};

Workspace workspace(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  DecodeGrid const grid = decode_grid(shape, limits);
  if (grid.parts <= 1) return {};
  int64_t const items = int64_t{limits.batch} * shape.kv_heads * grid.row_blocks;
  int64_t const rows = items * grid.parts * grid.block_rows;
  Workspace result{};
  result.partial_state = aligned(items * ranks * int64_t{sizeof(uint32_t)});
  result.partial_output = result.partial_state + aligned(rows * ranks * int64_t{sizeof(float2)});
  result.bytes = result.partial_output + aligned(rows * shape.head_dim * int64_t{sizeof(float)});
  return result;
}

DecodeParams decode_params(tik_attention_args const& args) {
  auto const bf16 = [](tik_bf16 const* pointer) { return reinterpret_cast<__nv_bfloat16 const*>(pointer); };
  bool const paged = args.kv.layout == TIK_KV_PAGED;
  DecodeGrid const grid = decode_grid(args.shape, args.limits);
  Workspace const places = workspace(args.shape, args.limits);
  auto* const memory = static_cast<uint8_t*>(args.workspace);

  DecodeParams params{};
  params.queries = bf16(args.queries);
  params.query_token_stride = args.query_token_stride;
  params.query_head_stride = args.query_head_stride;
  params.query_offsets = args.query_offsets;
  params.keys = reinterpret_cast<uint8_t const*>(args.kv.keys);
  params.values = reinterpret_cast<uint8_t const*>(args.kv.values);
  params.sequence_stride = paged ? 0 : args.kv.sequence_stride;
  params.page_stride_16 = paged ? args.kv.page_stride / 8 : 0;
  params.token_bytes = static_cast<int32_t>(args.kv.token_stride * 2);
  params.head_stride = args.kv.head_stride;
  params.page_table = paged ? args.kv.page_table : nullptr;
  params.page_table_stride = args.kv.page_table_stride;
  params.page_size = paged ? args.kv.page_size : 0;
  params.pages_a_part = paged && part_keys % args.kv.page_size == 0 ? part_keys / args.kv.page_size : 0;
  params.page_of_groups = paged && args.kv.page_size % group_keys == 0;
  params.largest_pages_a_part = paged ? (part_keys + args.kv.page_size - 2) / args.kv.page_size + 1 : 0;
  params.page_reciprocal = paged ? ((1u << 20) + args.kv.page_size - 1) / args.kv.page_size : 0;
  params.kv_lengths = args.kv_lengths;
  params.out = reinterpret_cast<__nv_bfloat16*>(args.out);
  params.out_token_stride = args.out_token_stride;
  params.out_head_stride = args.out_head_stride;
  params.lse = args.lse;
  if (memory) {
    params.arrivals = reinterpret_cast<uint32_t*>(memory + places.arrivals);
    params.partial_state = reinterpret_cast<float2*>(memory + places.partial_state);
    params.partial_output = reinterpret_cast<float*>(memory + places.partial_output);
  }
  params.batch = args.batch;
  params.kv_heads = args.shape.kv_heads;
  params.ratio = args.shape.query_heads / args.shape.kv_heads;
  params.row_blocks = grid.row_blocks;
  params.parts = grid.parts;
  params.scale_log2 = scale_log2(args.shape.softmax_scale);
  return params;
}

// Launches with the programmatic attribute: what a kernel does before it waits for the kernel before overlaps with that.
cudaError_t launch_kernel(void (*kernel)(DecodeParams), dim3 grid, int threads, int shared_bytes, unsigned cluster,
                          tik_attention_args const& args) {
  if (args.kv.token_stride >= int64_t{1} << 30) return cudaErrorInvalidValue; // token_bytes is 32 bits wide
  cudaError_t const error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(args.stream);
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {cluster, 1, 1};
  config.attrs = attributes;
  config.numAttrs = cluster > 1 ? 2 : 1;
  return cudaLaunchKernelEx(&config, kernel, decode_params(args));
}

template <int HeadDim, int Cluster, int RowBlocks, int Stages, int Parts = 1>
cudaError_t launch(tik_attention_args const& args) {
  using Shape = DecodeShape<HeadDim, Cluster, RowBlocks, Stages, Parts>;
  constexpr int shared_bytes = sizeof(DecodeShared<Shape>);
  static_assert(shared_bytes <= (Shape::blocks_per_multiprocessor == 1 ? 232448 : 115712)); // of a multiprocessor of Hopper
  DecodeGrid const grid = decode_grid(args.shape, args.limits);
  if (Parts > 1 && grid.parts > Parts) return cudaErrorInvalidConfiguration;
  int64_t const items = int64_t{grid.parts} * grid.row_blocks * args.shape.kv_heads * args.batch;
  dim3 blocks(Cluster * args.shape.kv_heads, grid.parts * grid.row_blocks, args.batch);
  if (Parts > 1) blocks = dim3(Cluster * Parts * args.shape.kv_heads, grid.row_blocks, args.batch);
  if (Shape::walks) blocks = dim3(static_cast<unsigned>(std::min<int64_t>(items, multiprocessors)));
  return launch_kernel(decode_kernel<Shape>, blocks, Shape::threads, shared_bytes, Cluster * Parts, args);
}

template <int HeadDim, int RowBlocks, int Stages>
cudaError_t launch_cluster(tik_attention_args const& args, DecodeVariant const& variant) {
  if (variant.parts == 2 && variant.cluster == 4) return launch<HeadDim, 4, RowBlocks, Stages, 2>(args);
  if (variant.parts == 4 && variant.cluster == 2) return launch<HeadDim, 2, RowBlocks, Stages, 4>(args);
  if (variant.parts > 1) return cudaErrorInvalidConfiguration;
  if (variant.cluster == 2) return launch<HeadDim, 2, RowBlocks, Stages>(args);
  if (variant.cluster == 4) return launch<HeadDim, 4, RowBlocks, Stages>(args);
  if constexpr (HeadDim == 128) {
    if (variant.cluster == 8) return launch<HeadDim, 8, RowBlocks, Stages>(args);
  }
  return cudaErrorInvalidConfiguration;
}

template <int HeadDim, int RowBlocks, int Splits, bool Paged>
cudaError_t launch_tile(tik_attention_args const& args) {
  using Shape = TileShape<HeadDim, RowBlocks, Splits, Paged>;
  dim3 const grid(Splits * args.shape.kv_heads, decode_grid(args.shape, args.limits).row_blocks, args.batch);
  return launch_kernel(decode_tile_kernel<Shape>, grid, Shape::threads, sizeof(TileShared<Shape>), 1, args);
}

template <int HeadDim, int RowBlocks, bool Paged>
cudaError_t launch_tile(tik_attention_args const& args, int splits) {
  if (splits == 1) return launch_tile<HeadDim, RowBlocks, 1, Paged>(args);
  if (splits == 2) return launch_tile<HeadDim, RowBlocks, 2, Paged>(args);
  if constexpr (HeadDim == 128) {
    if (splits == 4) return launch_tile<HeadDim, RowBlocks, 4, Paged>(args);
  }
  return cudaErrorInvalidConfiguration;
}

template <int HeadDim, int RowBlocks>
cudaError_t launch_rows(tik_attention_args const& args, DecodeVariant const& variant) {
  if (variant.splits > 0) {
    if (args.limits.kv_length > tile_keys || args.query_offsets) return cudaErrorInvalidConfiguration;
    return args.kv.layout == TIK_KV_PAGED ? launch_tile<HeadDim, RowBlocks, true>(args, variant.splits)
                                          : launch_tile<HeadDim, RowBlocks, false>(args, variant.splits);
  }
  if (variant.cluster == 1) return launch<HeadDim, 1, RowBlocks, stages_of_walk(RowBlocks)>(args);
  if (variant.stages == 8) return launch_cluster<HeadDim, RowBlocks, 8>(args, variant);
  if constexpr (RowBlocks == 1) {
    if (variant.stages == 4 && variant.parts == 1) return launch_cluster<HeadDim, RowBlocks, 4>(args, variant);
  }
  return cudaErrorInvalidConfiguration;
}

} // namespace

cudaError_t launch_decode_variant(tik_attention_args const& args, DecodeVariant const& variant) {
  bool const two = variant.row_blocks == 2;
  if (args.shape.head_dim == 128) return two ? launch_rows<128, 2>(args, variant) : launch_rows<128, 1>(args, variant);
  return two ? launch_rows<64, 2>(args, variant) : launch_rows<64, 1>(args, variant);
}

cudaError_t launch_decode(tik_attention_args const& args) {
  return launch_decode_variant(args, choose_decode(args.shape, args.limits, args.batch, args.query_offsets != nullptr));
}

int64_t decode_workspace_bytes(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  return workspace(shape, limits).bytes;
}

} // namespace tik::attention::sm90
