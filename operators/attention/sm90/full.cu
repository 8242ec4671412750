// Launches the full-sequence kernel: full sequences and long chunks over a cache.
//
// A block of threads stays on its multiprocessor and takes work items (full_work.cuh) until none is left. One or two warps
// load (full_load.cuh), groups of four warps compute (full_overlapped.cuh, full_serial.cuh), all by the program of
// numerics.cuh.
#include <algorithm>
#include <bit>
#include <optional>

#include "operators/attention/sm90/full_load.cuh"
#include "operators/attention/sm90/full_overlapped.cuh"
#include "operators/attention/sm90/full_serial.cuh"
#include "operators/attention/sm90/launch.h"
#include "operators/sm90/tensor_map.h"

namespace tik::attention::sm90 {
namespace {

// The variants of the kernel: what a block of threads shares, what setmaxnreg leaves to each role (together at most 64 K
// registers), and who consumes.
struct Overlapped128 {
  using Shared = FullShared<128, 2>;
  static constexpr uint32_t producer_registers = 56;
  static constexpr uint32_t consumer_registers = 224;

  static __device__ __forceinline__ void consume(Shared& shared, FullParameters const& parameters) {
    OverlappedConsumer<Shared>(shared, parameters).run();
  }
};

template <int head_dim, int groups>
struct Serial {
  using Shared = FullShared<head_dim, groups>;
  static constexpr uint32_t producer_registers = 56;
  static constexpr uint32_t consumer_registers = groups == 2 ? 224 : 152;

  static __device__ __forceinline__ void consume(Shared& shared, FullParameters const& parameters) {
    SerialConsumer<Shared>(shared, parameters).run();
  }
};

template <typename Variant>
__global__ void __launch_bounds__(Variant::Shared::threads, 1)
    full_kernel(__grid_constant__ FullMaps const maps, __grid_constant__ FullParameters const parameters) {
  using Shared = typename Variant::Shared;
  extern __shared__ __align__(1024) unsigned char shared_bytes[];
  auto& shared = *reinterpret_cast<Shared*>(shared_bytes);
  if (threadIdx.x == 0) {
    ptx::prefetch_map(maps.queries.large);
    ptx::prefetch_map(maps.keys.large);
    ptx::prefetch_map(maps.values.large);
    shared.init_barriers(Producer<Shared>::values_apart(maps) ? 1 : 0);
  }
  __syncthreads();
  if (threadIdx.x >= Shared::groups * group_threads) {
    ptx::give_up_registers<Variant::producer_registers>();
    int const warp = threadIdx.x / 32 - Shared::consumer_warps;
    if (warp == 0) {
      Producer<Shared>(shared, maps, parameters).run();
    } else if (warp == 1 && Producer<Shared>::values_apart(maps)) {
      Producer<Shared>(shared, maps, parameters).run_values();
    }
  } else {
    ptx::take_registers<Variant::consumer_registers>();
    ptx::wait_for_previous_launch();
    ptx::allow_next_launch();
    Variant::consume(shared, parameters);
  }
}

// A tensor [outer, heads, rows, head_dim] of bf16 with head_dim contiguous; strides in elements.
struct TensorLayout {
  tik_bf16 const* data;
  int64_t rows;
  int64_t row_stride;
  int64_t heads;
  int64_t head_stride;
  int64_t outer;
  int64_t outer_stride;
};

// The map whose boxes are 64 columns of `box_rows` rows. Nothing when the driver refuses.
std::optional<CUtensorMap> encode_map(TensorLayout const& tensor, int head_dim, int box_rows) {
  auto const encode = operators::sm90::tensor_map_encoder();
  if (encode == nullptr) return std::nullopt;
  CUtensorMap map;
  // The stride of a dimension of one element is never used, but must be valid.
  auto const stride_bytes = [](int64_t size, int64_t stride) -> cuuint64_t { return size > 1 ? 2 * stride : 16; };
  cuuint64_t const sizes[4] = {static_cast<cuuint64_t>(head_dim), static_cast<cuuint64_t>(tensor.rows),
                               static_cast<cuuint64_t>(tensor.heads), static_cast<cuuint64_t>(tensor.outer)};
  cuuint64_t const strides[3] = {stride_bytes(tensor.rows, tensor.row_stride), stride_bytes(tensor.heads, tensor.head_stride),
                                 stride_bytes(tensor.outer, tensor.outer_stride)};
  cuuint32_t const box[4] = {64, static_cast<cuuint32_t>(box_rows), 1, 1};
  cuuint32_t const element_strides[4] = {1, 1, 1, 1};
  CUresult const result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, const_cast<tik_bf16*>(tensor.data), sizes, strides,
                                 box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return std::nullopt;
  return map;
}

std::optional<RowMaps> encode_row_maps(TensorLayout const& tensor, int head_dim, int large_rows) {
  int const medium_rows = std::max(large_rows / 8, 1);
  auto const large = encode_map(tensor, head_dim, large_rows);
  auto const medium = encode_map(tensor, head_dim, medium_rows);
  auto const single = encode_map(tensor, head_dim, 1);
  if (!large || !medium || !single) return std::nullopt;
  auto const log2 = [](int power) { return std::countr_zero(static_cast<unsigned>(power)); };
  return RowMaps{*large, *medium, *single, log2(large_rows), log2(medium_rows)};
}

TensorLayout kv_layout(tik_attention_args const& args, tik_bf16 const* data) {
  tik_kv_view const& kv = args.kv;
  TensorLayout layout{data, 0, kv.token_stride, args.shape.kv_heads, kv.head_stride, 1, 0};
  switch (kv.layout) {
    case TIK_KV_PACKED:
      layout.rows = args.limits.query_tokens;
      break;
    case TIK_KV_CONTIGUOUS:
      layout.rows = args.limits.kv_length;
      layout.outer = args.batch;
      layout.outer_stride = kv.sequence_stride;
      break;
    case TIK_KV_PAGED:
      layout.rows = kv.page_size;
      layout.outer = kv.page_count;
      layout.outer_stride = kv.page_stride;
      break;
  }
  return layout;
}

// Rows of the largest box: a power of two that divides the tile and never straddles a page.
int largest_box(tik_kv_view const& kv) {
  if (kv.layout != TIK_KV_PAGED) return tile_keys;
  return std::min(kv.page_size & -kv.page_size, tile_keys);
}

std::optional<FullMaps> encode_maps(tik_attention_args const& args) {
  int const head_dim = args.shape.head_dim;
  TensorLayout const queries{
      args.queries, args.limits.query_tokens, args.query_token_stride, args.shape.query_heads, args.query_head_stride, 1, 0};
  auto const query_maps = encode_row_maps(queries, head_dim, group_rows);
  auto const key_maps = encode_row_maps(kv_layout(args, args.kv.keys), head_dim, largest_box(args.kv));
  auto const value_maps = encode_row_maps(kv_layout(args, args.kv.values), head_dim, largest_box(args.kv));
  if (!query_maps || !key_maps || !value_maps) return std::nullopt;
  return FullMaps{*query_maps, *key_maps, *value_maps};
}

// As many blocks as the chip holds, or as there can be items: n rows touch at most n / block_rows + 2 blocks of positions.
cudaError_t choose_grid(tik_attention_args const& args, int block_rows, int& blocks) {
  int device = 0;
  int multiprocessors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  int64_t const row_blocks = args.limits.query_tokens / block_rows + 2ll * args.batch;
  blocks = static_cast<int>(std::min<int64_t>(multiprocessors, row_blocks * args.shape.query_heads));
  return error;
}

template <typename Variant>
cudaError_t launch(FullMaps const& maps, FullParameters const& parameters) {
  using Shared = typename Variant::Shared;
  auto* const kernel = full_kernel<Variant>;
  int const shared_bytes = sizeof(Shared);
  int blocks = 0;
  cudaError_t error = choose_grid(parameters.args, Shared::block_rows, blocks);
  if (error == cudaSuccess) error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(Shared::threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(parameters.args.stream);
  config.attrs = &overlap;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, maps, parameters);
}

// Up to this many keys the serial variant serves head_dim 128 (H200, 32 query heads, serial and overlapped: 7.6 and 7.6 us at
// 256, 11.0 and 10.2 at 512).
constexpr int longest_serial = 256;

} // namespace

int64_t full_workspace_bytes(tik_attention_shape const&, tik_attention_limits const&) { return 2 * sizeof(int); }

cudaError_t launch_full(tik_attention_args const& args) {
  auto const maps = encode_maps(args);
  if (!maps) return cudaErrorInvalidValue;
  auto* const counters = static_cast<int*>(args.workspace);
  FullParameters const parameters{args, scale_log2(args.shape.softmax_scale), counters, counters + 1};
  if (args.shape.head_dim == 64) return launch<Serial<64, 3>>(*maps, parameters);
  if (args.limits.kv_length <= longest_serial) return launch<Serial<128, 2>>(*maps, parameters);
  return launch<Overlapped128>(*maps, parameters);
}

} // namespace tik::attention::sm90
