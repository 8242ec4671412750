// The end of the decode kernel: the result of a sequence of one part, or the fold of several.
#pragma once

#include "operators/attention/sm90/decode_shape.cuh"

namespace tik::attention::sm90 {

// Where a row of the block has its columns in the result.
__device__ __forceinline__ __nv_bfloat16* output_row(DecodeParams const& params, Item const& item, int row) {
  QueryRow const place = query_row(params, item, row);
  return params.out + place.token * params.out_token_stride + place.head * params.out_head_stride;
}

__device__ __forceinline__ void write_output(__nv_bfloat16* out, float2 output, float inverse) {
  *reinterpret_cast<__nv_bfloat162*>(out) = __floats2bfloat162_rn(finish(output.x, inverse), finish(output.y, inverse));
}

__device__ __forceinline__ void write_lse(DecodeParams const& params, Item const& item, int row, float most, float sum) {
  QueryRow const place = query_row(params, item, row);
  params.lse[place.token * params.kv_heads * params.ratio + place.head] = log_sum_exp(most, sum, params.scale_log2);
}

// A decode row of a sequence without keys: zeros, lse -infinity.
template <class Shape>
__device__ __forceinline__ void write_empty(DecodeParams const& params, Item const& item) {
  constexpr int pairs = Shape::columns / 2;
  for (int index = threadIdx.x; index < item.rows * pairs; index += consumer_threads) {
    int const column = item.rank * Shape::columns + index % pairs * 2;
    int const head = item.head * params.ratio + item.first_row + index / pairs;
    *reinterpret_cast<uint32_t*>(params.out + item.query_token * params.out_token_stride + head * params.out_head_stride +
                                 column) = 0;
    if (column == 0 && params.lse) {
      params.lse[static_cast<int64_t>(item.query_token) * params.kv_heads * params.ratio + head] = minus_infinity;
    }
  }
}

// Which row of a block of 8 a lane of a value warp writes, and the first of its columns in the thread block.
__device__ __forceinline__ int part_row(int block) { return block * 8 + 2 * (threadIdx.x % 4) + threadIdx.x / 4 % 2; }
__device__ __forceinline__ int part_column() { return threadIdx.x / 32 * 16 + (threadIdx.x % 32 / 4 & ~1); }

// Gives the accumulators of a value warp to write(block, offset, two adjacent columns): those of part_row(block) and
// part_column() + offset.
template <class Shape, class Write>
__device__ __forceinline__ void write_part(float const (&output)[Shape::row_blocks][4], Write const& write) {
  bool const odd = threadIdx.x / 4 % 2;
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    // Lanes of columns r and r ^ 1 exchange: the even one has both columns of row 2c, the odd one those of row 2c + 1.
    float const(&o)[4] = output[block];
    float const received = __shfl_xor_sync(0xffffffff, odd ? o[0] : o[1], 4);
    float const received_8 = __shfl_xor_sync(0xffffffff, odd ? o[2] : o[3], 4);
    write(block, 0, odd ? make_float2(received, o[1]) : make_float2(o[0], received));
    write(block, 8, odd ? make_float2(received_8, o[3]) : make_float2(o[2], received_8));
  }
}

// The number of an item without its part, in the workspace.
__device__ __forceinline__ int64_t workspace_item(DecodeParams const& params, Item const& item) {
  return (static_cast<int64_t>(item.sequence) * params.kv_heads + item.head) * params.row_blocks + item.row_block;
}

// The partial states of one item's parts in the workspace.
template <class Shape>
class Partials {
 public:
  __device__ __forceinline__ Partials(DecodeParams const& params, int64_t item)
      : output_(params.partial_output + item * params.parts * Shape::block_rows * Shape::head_dim),
        state_(params.partial_state + item * params.parts * ranks * Shape::block_rows) {}

  __device__ __forceinline__ float2* output(int part, int row, int column) const {
    return reinterpret_cast<float2*>(output_ + (static_cast<int64_t>(part) * Shape::block_rows + row) * Shape::head_dim +
                                     column);
  }
  // Running reference and sum; every rank has its own copy, so that a rank's arrival counter covers all it reads.
  __device__ __forceinline__ float2* state(int part, int rank, int row) const {
    return state_ + (static_cast<int64_t>(part) * ranks + rank) * Shape::block_rows + row;
  }

 private:
  float* output_;
  float2* state_;
};

__device__ __forceinline__ void read_columns(float (&columns)[2], float2 const* from) {
  float2 const two = __ldcg(from);
  columns[0] = two.x, columns[1] = two.y;
}
__device__ __forceinline__ void read_columns(float (&columns)[4], float2 const* from) {
  float4 const four = __ldcg(reinterpret_cast<float4 const*>(from));
  columns[0] = four.x, columns[1] = four.y, columns[2] = four.z, columns[3] = four.w;
}

// Counts this block's arrival; true in all of `threads` threads, the first of which has `thread` 0, of the block that arrives
// last, which may read what the others wrote. Leaves the counter at zero. `barrier` is for those threads alone.
__device__ __forceinline__ bool arrive_last(uint32_t* arrivals, int expected, int thread, int threads, NamedBarrier barrier) {
  bool last = false;
  if (thread == 0) {
    last = count_arrival(arrivals) == static_cast<uint32_t>(expected - 1);
    if (last) *arrivals = 0;
  }
  return named_barrier_any(barrier, threads, last);
}

// What has been folded of a row: some columns of it.
template <int Columns>
struct Total {
  float most = minus_infinity;
  float sum = 0;
  float output[Columns] = {};

  // The first part is moved, not folded.
  __device__ __forceinline__ void add(float2 state, float const (&part_output)[Columns], bool first, float scale_log2) {
    FoldFactors const factors = fold_factors(most, state.x, scale_log2);
    most = fold_max(most, state.x);
    sum = first ? state.y : fold(sum, state.y, factors);
#pragma unroll
    for (int i = 0; i < Columns; ++i) output[i] = first ? part_output[i] : fold(output[i], part_output[i], factors);
  }
};

// Folds all parts of the block's columns in order and writes the result: the work of the block that arrived last. Nobody works
// meanwhile when it is the last item, so a thread reads all it can before it folds: 8 parts of two columns, or, where 16 rows
// would be many rounds of that, 4 parts of two times four columns.
template <class Shape>
__device__ __forceinline__ void fold_parts(DecodeParams const& params, Item const& item, Partials<Shape> const& partials,
                                           int thread, int threads) {
  constexpr int width = Shape::row_blocks == 1 ? 2 : 4;
  constexpr int together = Shape::row_blocks == 1 ? 1 : 2;
  constexpr int ahead = Shape::row_blocks == 1 ? 8 : 4;
  constexpr int a_row = Shape::columns / width;
  for (int begin = thread; begin < item.rows * a_row; begin += together * threads) {
    int rows[together], columns[together], parts[together];
    Total<width> totals[together];
#pragma unroll
    for (int n = 0; n < together; ++n) {
      int const index = min(begin + n * threads, item.rows * a_row - 1); // the last is perhaps folded twice, to the same bits
      rows[n] = index / a_row;
      columns[n] = item.rank * Shape::columns + index % a_row * width;
      parts[n] = (keys_seen(params, item, rows[n]) + part_keys - 1) / part_keys;
    }
    for (int first = 0; first < item.parts; first += ahead) {
      float2 states[together][ahead];
      float outputs[together][ahead][width];
#pragma unroll
      for (int n = 0; n < together; ++n) {
#pragma unroll
        for (int i = 0; i < ahead; ++i) {
          int const part = min(first + i, parts[n] - 1);
          states[n][i] = __ldcg(partials.state(part, item.rank, rows[n]));
          read_columns(outputs[n][i], partials.output(part, rows[n], columns[n]));
        }
      }
#pragma unroll
      for (int n = 0; n < together; ++n) {
#pragma unroll
        for (int i = 0; i < ahead; ++i) {
          Total<width> folded = totals[n];
          folded.add(states[n][i], outputs[n][i], first + i == 0, params.scale_log2);
          if (first + i < parts[n]) totals[n] = folded;
        }
      }
    }
#pragma unroll
    for (int n = 0; n < together; ++n) {
      auto const& [most, sum, output] = totals[n];
      __nv_bfloat16* const out = output_row(params, item, rows[n]) + columns[n];
      float const inverse = reciprocal(sum);
#pragma unroll
      for (int i = 0; i < width; i += 2) write_output(out + i, {output[i], output[i + 1]}, inverse);
      if (columns[n] == 0 && params.lse) write_lse(params, item, rows[n], most, sum);
    }
  }
}

} // namespace tik::attention::sm90
