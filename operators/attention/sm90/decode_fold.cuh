// The end of the decode kernel: the result of a sequence of one part, or the fold of several.
#pragma once

#include "operators/attention/sm90/decode_shape.cuh"

namespace tik::attention::sm90 {

// Two columns of one row of the result, and its lse with the first of them.
__device__ __forceinline__ void write_result(DecodeParams const& params, Item const& item, int row, int column, float2 output,
                                             float most, float sum) {
  QueryRow const place = query_row(params, item, row);
  float const inverse = reciprocal(sum);
  *reinterpret_cast<__nv_bfloat162*>(params.out + place.token * params.out_token_stride + place.head * params.out_head_stride + column) =
      __floats2bfloat162_rn(finish(output.x, inverse), finish(output.y, inverse));
  if (column == 0 && params.lse) {
    params.lse[place.token * params.kv_heads * params.ratio + place.head] = log_sum_exp(most, sum, params.scale_log2);
  }
}

// A decode row of a sequence without keys: zeros, lse -infinity.
template <class Shape>
__device__ __forceinline__ void write_empty(DecodeParams const& params, Item const& item) {
  constexpr int pairs = Shape::columns / 2;
  for (int index = threadIdx.x; index < item.rows * pairs; index += decode_threads) {
    int const column = item.rank * Shape::columns + index % pairs * 2;
    int const head = item.head * params.ratio + item.first_row + index / pairs;
    *reinterpret_cast<uint32_t*>(params.out + item.query_token * params.out_token_stride + head * params.out_head_stride +
                                 column) = 0;
    if (column == 0 && params.lse) {
      params.lse[static_cast<int64_t>(item.query_token) * params.kv_heads * params.ratio + head] = minus_infinity;
    }
  }
}

// Gives the accumulators of a warp to write(row, column, two adjacent columns); columns count within the block.
template <class Shape, class Write>
__device__ __forceinline__ void write_part(float const (&output)[Shape::row_blocks][4], Write const& write) {
  int const warp = threadIdx.x / 32;
  if (warp >= Shape::value_warps) return;
  int const r = threadIdx.x % 32 / 4;
  int const c = threadIdx.x % 4;
  bool const odd = r & 1;
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    // Lanes of columns r and r ^ 1 exchange: the even one has both columns of row 2c, the odd one those of row 2c + 1.
    float const(&o)[4] = output[block];
    float const received = __shfl_xor_sync(0xffffffff, odd ? o[0] : o[1], 4);
    float const received_8 = __shfl_xor_sync(0xffffffff, odd ? o[2] : o[3], 4);
    int const row = block * 8 + 2 * c + odd;
    int const column = warp * 16 + (r & ~1);
    write(row, column, odd ? make_float2(received, o[1]) : make_float2(o[0], received));
    write(row, column + 8, odd ? make_float2(received_8, o[3]) : make_float2(o[2], received_8));
  }
}

// The partial states of one item's parts in the workspace.
template <class Shape>
class Partials {
 public:
  __device__ __forceinline__ Partials(DecodeParams const& params, int64_t item)
      : output_(params.partial_output + item * params.parts * Shape::block_rows * Shape::head_dim),
        state_(params.partial_state + item * params.parts * ranks * Shape::block_rows) {}

  __device__ __forceinline__ float2* output(int part, int row, int column) const {
    return reinterpret_cast<float2*>(output_ + (static_cast<int64_t>(part) * Shape::block_rows + row) * Shape::head_dim + column);
  }
  // Running maximum and sum; every rank has its own copy, so that a rank's arrival counter covers all it reads.
  __device__ __forceinline__ float2* state(int part, int rank, int row) const {
    return state_ + (static_cast<int64_t>(part) * ranks + rank) * Shape::block_rows + row;
  }

 private:
  float* output_;
  float2* state_;
};

// Counts this block's arrival; true in all threads of the block that arrives last, which may read what the others wrote. Leaves
// the counter at zero.
__device__ __forceinline__ bool arrive_last(uint32_t* arrivals, int expected, uint32_t& shared_result) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    bool const last = atomicAdd(arrivals, 1) == static_cast<uint32_t>(expected - 1);
    if (last) *arrivals = 0;
    shared_result = last;
  }
  __syncthreads();
  if (!shared_result) return false;
  __threadfence();
  return true;
}

// Folds all parts of the block's columns in order and writes the result: the work of the block that arrived last.
template <class Shape>
__device__ __forceinline__ void fold_parts(DecodeParams const& params, Item const& item, Partials<Shape> const& partials) {
  constexpr int pairs = Shape::columns / 2;
  constexpr int ahead = 8; // parts read before the first is folded
  for (int index = threadIdx.x; index < item.rows * pairs; index += decode_threads) {
    int const row = index / pairs;
    int const column = item.rank * Shape::columns + index % pairs * 2;
    int const parts = (keys_seen(params, item, row) + part_keys - 1) / part_keys;
    float most = minus_infinity, sum = 0;
    float2 output = {0, 0};
    for (int first = 0; first < parts; first += ahead) {
      float2 states[ahead];
      float2 outputs[ahead];
#pragma unroll
      for (int i = 0; i < ahead; ++i) {
        if (first + i < parts) {
          states[i] = __ldcg(partials.state(first + i, item.rank, row));
          outputs[i] = __ldcg(partials.output(first + i, row, column));
        }
      }
#pragma unroll
      for (int i = 0; i < ahead; ++i) {
        if (first + i < parts) {
          if (first + i == 0) {
            most = states[i].x, sum = states[i].y, output = outputs[i];
          } else {
            FoldFactors const factors = fold_factors(most, states[i].x, params.scale_log2);
            most = fold_max(most, states[i].x);
            sum = fold(sum, states[i].y, factors);
            output = {fold(output.x, outputs[i].x, factors), fold(output.y, outputs[i].y, factors)};
          }
        }
      }
    }
    write_result(params, item, row, column, output, most, sum);
  }
}

}  // namespace tik::attention::sm90
