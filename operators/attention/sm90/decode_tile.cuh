// Decode of sequences of one tile (up to 128 keys), bound by latency alone: everything that a block needs is on its way at
// once, whatever does not depend on device memory is computed while the kernel before still runs, and nothing but two barriers
// of the block lies between the arrival of the keys and the result.
//
// A block serves one KV head of one sequence, or some columns of its output: `Splits` blocks share the columns, each computes
// all scores, because that is sooner done than exchanged. Operands and lanes as in decode_kernel.cuh. Warp w computes the
// scores and weights of keys 16 w to 16 w + 15, then the columns 16 w to 16 w + 15.
#pragma once

#include "operators/attention/sm90/decode_fold.cuh"
#include "operators/attention/sm90/decode_load.cuh"
#include "operators/attention/sm90/decode_phases.cuh"

namespace tik::attention::sm90 {

template <int HeadDim, int RowBlocks, int Splits, bool Paged>
struct TileShape {
  static constexpr int head_dim = HeadDim, row_blocks = RowBlocks, splits = Splits;
  static constexpr bool paged = Paged;
  static constexpr int block_rows = 8 * RowBlocks;
  static constexpr int columns = HeadDim / Splits;
  static constexpr int key_chunks = HeadDim / 8; // 16-byte chunks of a K row
  static constexpr int value_chunks = columns / 8;
  static constexpr int value_warps = columns / 16;
  static constexpr int threads = 32 * groups_per_tile;
  static constexpr int query_pitch = HeadDim * 2 + 16; // bytes, padded against bank conflicts
  static_assert(threads == consumer_threads && columns >= 16 && block_rows * key_chunks <= threads);
};

template <class Shape>
struct TileShared {
  alignas(128) uint8_t keys[tile_keys * Shape::head_dim * 2];
  alignas(128) uint8_t values[tile_keys * Shape::columns * 2];
  alignas(16) uint8_t queries[Shape::block_rows * Shape::query_pitch];
  uint2 weights[groups_per_tile][Shape::row_blocks][32];               // [row * 4 + c]: keys 2c, 2c + 1 and keys 2c + 8, 2c + 9
  float sums[groups_per_tile][Shape::row_blocks][32];                  // of a group, [row * 4 + class]
  alignas(16) float group_max[Shape::block_rows][groups_per_tile + 4]; // padded against bank conflicts
};

// The rows of the tile that a thread copies, one 16-byte chunk of each. Rows that the sequence does not have become zeros.
template <int Chunks, bool Paged>
class TileRows {
 public:
  // `shared`: of the tile; `source`: of the first key, or of the pool of pages, where this thread block's columns start.
  __device__ __forceinline__ TileRows(DecodeParams const& params, uint8_t* shared, uint8_t const* source)
      : place_(shared_address(shared) + chunk_offset<Chunks>(row(), threadIdx.x % Chunks)) {
    compute_now(place_);
#pragma unroll
    for (int pass = 0; pass < passes; ++pass) {
      int const key = pass * rows_a_pass + row();
      page_[pass] = Paged ? (static_cast<uint32_t>(key) * params.page_reciprocal) >> 20 : 0;
      int64_t const in_page = key - page_[pass] * params.page_size;
      source_[pass] = source + in_page * params.token_bytes + threadIdx.x % Chunks * 16;
      compute_now(source_[pass]);
    }
  }

  // `table`: of the sequence.
  __device__ __forceinline__ void find_pages(DecodeParams const& params, int32_t const* table) {
    if constexpr (Paged) {
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) {
        page_[pass] = load_now(table + min(page_[pass], params.page_table_stride - 1)); // past the end: not used
      }
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) source_[pass] += page_[pass] * params.page_stride_16 * 16;
    }
  }

  __device__ __forceinline__ void copy(int keys) const {
#pragma unroll
    for (int pass = 0; pass < passes; ++pass) {
      copy_async_16(place_ + pass * rows_a_pass * Chunks * 16, source_[pass], pass * rows_a_pass + row() < keys);
    }
  }

 private:
  static constexpr int rows_a_pass = consumer_threads / Chunks;
  static constexpr int passes = tile_keys / rows_a_pass;
  static __device__ __forceinline__ int row() { return threadIdx.x / Chunks; }

  uint32_t place_;
  uint8_t const* source_[passes];
  int page_[passes];
};

// Scores of the warp's 16 keys.
template <class Shape>
__device__ __forceinline__ void tile_scores(TileShared<Shape> const& shared, float (&scores)[Shape::row_blocks][4]) {
  uint32_t const warp = threadIdx.x / 32;
  uint32_t const lane = threadIdx.x % 32;
  QueryFragments<Shape> queries;
  queries.read(shared.queries);
#pragma unroll
  for (int step = 0; step < Shape::head_dim / 16; ++step) {
    uint32_t a[4];
    load_matrix_x4(
        a, shared_address(shared.keys) + chunk_offset<Shape::key_chunks>(warp * group_keys + lane % 16, 2 * step + lane / 16));
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      multiply_k16(scores[block], a, queries.b[block][step][0], queries.b[block][step][1]);
    }
  }
}

// Weights of the warp's 16 keys and their sum, for all warps. One barrier of the block, for the maxima.
template <class Shape>
__device__ __forceinline__ void tile_weights(float scale, TileShared<Shape>& shared,
                                             float const (&scores)[Shape::row_blocks][4]) {
  uint32_t const group = threadIdx.x / 32;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const row = 2 * (lane % 4) + lane / 4 % 2;
  float4 of_row[Shape::row_blocks];
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    float4 const s = of_row[block] = keys_of_a_row(scores[block]);
    float most = fmaxf(fmaxf(s.x, s.y), fmaxf(s.z, s.w));
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 8));
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 16));
    if (lane < 8) shared.group_max[block * 8 + row][group] = most;
  }
  __syncthreads();
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    float4 const a = *reinterpret_cast<float4 const*>(&shared.group_max[block * 8 + row][0]);
    float4 const b = *reinterpret_cast<float4 const*>(&shared.group_max[block * 8 + row][4]);
    float const most = fmaxf(fmaxf(fmaxf(a.x, a.y), fmaxf(a.z, a.w)), fmaxf(fmaxf(b.x, b.y), fmaxf(b.z, b.w)));
    float const scaled = scaled_max(most, scale);
    float4 const s = of_row[block];
    float4 const w = {weight(s.x, scale, scaled), weight(s.y, scale, scaled), weight(s.z, scale, scaled),
                      weight(s.w, scale, scaled)};
    shared.weights[group][block][row * 4 + lane / 8] = {pack_weights(w.x, w.y), pack_weights(w.z, w.w)};
    shared.sums[group][block][row * 4 + lane / 8] = group_sum(w.x, w.y, w.z, w.w);
  }
}

// The warp's 16 columns of the output, not yet divided.
template <class Shape>
__device__ __forceinline__ void tile_output(TileShared<Shape> const& shared, float (&output)[Shape::row_blocks][4]) {
  uint32_t const warp = threadIdx.x / 32;
  uint32_t const lane = threadIdx.x % 32;
#pragma unroll
  for (int group = 0; group < groups_per_tile; ++group) {
    uint32_t a[4];
    uint32_t const row = group * group_keys + lane % 8 + lane / 16 * 8;
    load_matrix_x4_transposed(a,
                              shared_address(shared.values) + chunk_offset<Shape::value_chunks>(row, 2 * warp + lane / 8 % 2));
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      uint2 const weights = shared.weights[group][block][lane];
      multiply_k16(output[block], a, weights.x, weights.y);
    }
  }
}

// The sum of row lane / 4 of a block of 8 rows.
template <class Shape>
__device__ __forceinline__ float tile_row_sum(TileShared<Shape> const& shared, int block) {
  float g[groups_per_tile];
#pragma unroll
  for (int i = 0; i < groups_per_tile; ++i) g[i] = shared.sums[i][block][threadIdx.x % 32];
  // Addition commutes, so all four lanes of a row compute part_sum(l0, l1, l2, l3).
  float sum = tile_sum(g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]);
  sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, 1));
  return __fadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, 2));
}

// Divides the warp's columns by the sums of their rows and writes them. `out`: where the lane writes its columns of the first
// block.
template <class Shape>
__device__ __forceinline__ void tile_write(DecodeParams const& params, TileShared<Shape> const& shared, Item const& item,
                                           float const (&output)[Shape::row_blocks][4], __nv_bfloat16* out) {
  int const lane = threadIdx.x % 32;
  float inverse[Shape::row_blocks];
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    float const sum = tile_row_sum(shared, block);
    inverse[block] = reciprocal(sum);
    int const row = block * 8 + lane / 4;
    if (params.lse && item.rank == 0 && threadIdx.x < 32 && lane % 4 == 0 && row < item.rows) {
      float most = shared.group_max[row][0];
#pragma unroll
      for (int i = 1; i < groups_per_tile; ++i) most = fmaxf(most, shared.group_max[row][i]);
      write_lse(params, item, row, most, sum);
    }
  }
  write_part<Shape>(output, [&](int block, int offset, float2 value) {
    int const row = part_row(block);
    float const of_row = __shfl_sync(0xffffffff, inverse[block], row % 8 * 4);
    if (row < item.rows) write_output(out + block * 8 * params.out_head_stride + offset, value, of_row);
  });
}

template <class Shape>
__global__ void __launch_bounds__(Shape::threads) decode_tile_kernel(DecodeParams const params) {
  extern __shared__ __align__(128) uint8_t shared_bytes[];
  auto& shared = *reinterpret_cast<TileShared<Shape>*>(shared_bytes);
  int const warp = threadIdx.x / 32;
  Item item;
  item.rank = blockIdx.x % Shape::splits;
  item.head = blockIdx.x / Shape::splits;
  item.sequence = item.query_token = blockIdx.z;
  item.first_row = blockIdx.y * Shape::block_rows;
  item.rows = min(Shape::block_rows, params.ratio - item.first_row);

  int64_t const head = (item.head * params.head_stride + item.sequence * params.sequence_stride) * 2;
  TileRows<Shape::key_chunks, Shape::paged> keys(params, shared.keys, params.keys + head);
  TileRows<Shape::value_chunks, Shape::paged> values(params, shared.values,
                                                     params.values + head + item.rank * Shape::columns * 2);
  int64_t const first_head = item.head * params.ratio + item.first_row;
  int const query_row = threadIdx.x / Shape::key_chunks;
  int const query_chunk = threadIdx.x % Shape::key_chunks;
  __nv_bfloat16 const* query = params.queries + item.sequence * params.query_token_stride +
                               (first_head + query_row) * params.query_head_stride + query_chunk * 8;
  uint32_t query_place = shared_address(shared.queries) + query_row * Shape::query_pitch + query_chunk * 16;
  __nv_bfloat16* out = params.out + item.sequence * params.out_token_stride +
                       (first_head + part_row(0)) * params.out_head_stride + item.rank * Shape::columns + part_column();
  int32_t const* lengths = params.kv_lengths + item.sequence;
  int32_t const* table = params.page_table + static_cast<int64_t>(item.sequence) * params.page_table_stride;
  compute_now(query);
  compute_now(query_place);
  compute_now(out);
  compute_now(lengths);
  compute_now(table);

  wait_for_kernel_before();
  int const length = load_now(lengths);
  keys.find_pages(params, table);
  if (query_row < Shape::block_rows) copy_async_16(query_place, query, query_row < item.rows);
  if (length <= 0) {
    write_empty<Shape>(params, item);
    return;
  }
  keys.copy(length);
  copy_async_commit();
  values.find_pages(params, table); // after the keys are on their way, which are needed first
  values.copy(length);
  copy_async_commit();
  start_dependents(); // not before: the blocks of the next kernel would disturb the start of these

  copy_async_wait<1>();
  __syncthreads();
  float scores[Shape::row_blocks][4] = {};
  tile_scores(shared, scores);
  if ((warp + 1) * group_keys > length) {
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) mask(scores[block], warp, {length, length});
  }
  tile_weights(params.scale_log2, shared, scores);
  copy_async_wait<0>();
  __syncthreads();
  if (warp < Shape::value_warps) {
    float output[Shape::row_blocks][4] = {};
    tile_output(shared, output);
    tile_write(params, shared, item, output, out);
  }
}

} // namespace tik::attention::sm90
