// The host side of decode: grid, workspace, choice of the variant, launch.
#include <algorithm>
#include <cstdint>

#include "operators/attention/sm90/decode_kernel.cuh"
#include "operators/attention/sm90/decode_variant.h"
#include "operators/attention/sm90/launch.h"

namespace tik::attention::sm90 {
namespace {

constexpr int multiprocessors = 132; // of an H200; another number costs time, not bits
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

template <int HeadDim, int Cluster, int RowBlocks, int Stages>
cudaError_t launch(tik_attention_args const& args) {
  using Shape = DecodeShape<HeadDim, Cluster, RowBlocks, Stages>;
  if (args.kv.token_stride >= int64_t{1} << 30) return cudaErrorInvalidValue; // token_bytes is 32 bits wide
  auto* const kernel = decode_kernel<Shape>;
  constexpr int shared_bytes = sizeof(DecodeShared<Shape>);
  cudaError_t const error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100);

  DecodeGrid const grid = decode_grid(args.shape, args.limits);
  cudaLaunchConfig_t config{};
  int64_t const items = int64_t{grid.parts} * grid.row_blocks * args.shape.kv_heads * args.batch;
  config.gridDim =
      Cluster == 1 ? dim3(static_cast<unsigned>(std::min<int64_t>(items, multiprocessors * Shape::blocks_per_multiprocessor)))
                   : dim3(Cluster * args.shape.kv_heads, grid.parts * grid.row_blocks, args.batch);
  config.blockDim = dim3(Shape::threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(args.stream);
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {Cluster, 1, 1};
  config.attrs = attributes;
  config.numAttrs = Cluster > 1 ? 2 : 1;
  return cudaLaunchKernelEx(&config, kernel, decode_params(args));
}

template <int HeadDim, int RowBlocks, int Stages>
cudaError_t launch_cluster(tik_attention_args const& args, int cluster) {
  if (cluster == 2) return launch<HeadDim, 2, RowBlocks, Stages>(args);
  if (cluster == 4) return launch<HeadDim, 4, RowBlocks, Stages>(args);
  if constexpr (HeadDim == 128) {
    if (cluster == 8) return launch<HeadDim, 8, RowBlocks, Stages>(args);
  }
  return cudaErrorInvalidConfiguration;
}

template <int HeadDim>
cudaError_t launch_head_dim(tik_attention_args const& args, DecodeVariant const& variant) {
  if (variant.cluster == 1) {
    if (variant.row_blocks == 2) return launch<HeadDim, 1, 2, 6>(args);
    return variant.stages == 8 ? launch<HeadDim, 1, 1, 8>(args) : launch<HeadDim, 1, 1, 5>(args);
  }
  if (variant.row_blocks == 2) return launch_cluster<HeadDim, 2, 4>(args, variant.cluster);
  if (variant.stages == 8) return launch_cluster<HeadDim, 1, 8>(args, variant.cluster);
  return launch_cluster<HeadDim, 1, 5>(args, variant.cluster);
}

} // namespace

DecodeGrid decode_grid(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  DecodeGrid grid{};
  grid.rows = limits.query_length * (shape.query_heads / shape.kv_heads);
  grid.block_rows = grid.rows <= 8 ? 8 : 16;
  grid.row_blocks = (grid.rows + grid.block_rows - 1) / grid.block_rows;
  grid.parts = std::max(1, (limits.kv_length + part_keys - 1) / part_keys);
  return grid;
}

DecodeVariant choose_decode(tik_attention_shape const& shape, tik_attention_limits const& limits, int batch) {
  DecodeGrid const grid = decode_grid(shape, limits);
  int64_t const items = int64_t{batch} * shape.kv_heads * grid.row_blocks * grid.parts;
  // Measured on an H200. Few items: clusters that all run at once with one block a multiprocessor (15 of 8, 30 of 4, 66 of 2),
  // then with two. Many: blocks alone, one a multiprocessor, which walk over them.
  int cluster = items <= 15 ? 8 : items <= 30 ? 4 : items <= multiprocessors || batch > largest_walked_batch ? 2 : 1;
  cluster = std::min(cluster, shape.head_dim / 16);
  return {cluster, grid.block_rows / 8, items * cluster <= multiprocessors ? 8 : 5};
}

cudaError_t launch_decode_variant(tik_attention_args const& args, DecodeVariant const& variant) {
  return args.shape.head_dim == 128 ? launch_head_dim<128>(args, variant) : launch_head_dim<64>(args, variant);
}

cudaError_t launch_decode(tik_attention_args const& args) {
  return launch_decode_variant(args, choose_decode(args.shape, args.limits, args.batch));
}

int64_t decode_workspace_bytes(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  return workspace(shape, limits).bytes;
}

} // namespace tik::attention::sm90
