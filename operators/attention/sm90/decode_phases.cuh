// What a block of the decode kernel computes between its loads and its result: scores, weights, sums, output.
#pragma once

#include "operators/attention/sm90/decode_fold.cuh"
#include "operators/attention/sm90/decode_load.cuh"

namespace tik::attention::sm90 {

template <class Shape>
struct RowsSeen {
  int2 lane[Shape::row_blocks]; // keys of the part that the lane's rows 2c and 2c + 1 see
  int all;                      // keys of the part that every row sees
};

template <class Shape>
__device__ __forceinline__ RowsSeen<Shape> rows_seen(DecodeParams const& params, Item const& item) {
  RowsSeen<Shape> seen;
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) seen.lane[block] = {item.keys, item.keys};
  seen.all = item.keys;
  if (params.query_offsets) {
    int const before = item.part * part_keys;
    seen.all = min(item.keys, keys_seen(params, item, 0) - before);
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      int const row = block * 8 + 2 * (threadIdx.x % 4);
      if (row < item.rows) seen.lane[block].x = min(item.keys, keys_seen(params, item, row) - before);
      if (row + 1 < item.rows) seen.lane[block].y = min(item.keys, keys_seen(params, item, row + 1) - before);
    }
  }
  return seen;
}

// The groups of 16 keys of one consumer warp: group n of warp w is group rank + Cluster * (8n + w) of the part.
template <class Shape>
struct WarpGroups {
  float scores[Shape::warp_groups][Shape::row_blocks][4];

  static __device__ __forceinline__ int group(Item const& item, int n) {
    return item.rank + Shape::cluster * (consumer_warps * n + threadIdx.x / 32);
  }

  // Scores, with -infinity for keys that a row does not see, those past the sequence's end among them. Sends the maximum of
  // each group and row to every block of the cluster. A block alone reads its queries from shared memory, at `query_rows`.
  __device__ __forceinline__ void compute_scores(DecodeShared<Shape>& shared, Item const& item, Stages<Shape> const& stages,
                                                 RowsSeen<Shape> const& seen, QueryFragments<Shape>& queries,
                                                 uint8_t const* query_rows, RingPlace<Shape> place) {
    uint32_t const warp = threadIdx.x / 32;
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const row = warp % Shape::groups_per_stage * group_keys + lane % 16;
    // Where the lane reads the operands of four k16 steps; those of the next four lie 128 bytes on.
    uint32_t in_stage[4];
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      in_stage[step] = shared_address(shared.stages) + chunk_offset<Shape::key_chunks>(row, 2 * step + lane / 16);
      compute_now(in_stage[step]);
    }
    place.advance(warp / Shape::groups_per_stage);
#pragma unroll
    for (int n = 0; n < Shape::warp_groups; ++n) {
      int const stage = n * Shape::warp_shares + warp / Shape::groups_per_stage;
      if (stage >= stages.keys) break;
      wait_stage(shared, place);
      if (Shape::walks && n == 0) queries.read(query_rows);
#pragma unroll
      for (int block = 0; block < Shape::row_blocks; ++block) {
#pragma unroll
        for (int i = 0; i < 4; ++i) scores[n][block][i] = 0;
      }
#pragma unroll
      for (int step = 0; step < Shape::head_dim / 16; ++step) {
        uint32_t a[4];
        load_matrix_x4(a, in_stage[step % 4] + place.buffer * stage_bytes + step / 4 * 128);
#pragma unroll
        for (int block = 0; block < Shape::row_blocks; ++block) {
          multiply_k16(scores[n][block], a, queries.b[block][step][0], queries.b[block][step][1]);
        }
      }
      release_stage(shared, place, Shape::groups_per_stage);
      place.advance(Shape::warp_shares);
      if (consumer_warps * n + warp < stages.own_groups) {
#pragma unroll
        for (int block = 0; block < Shape::row_blocks; ++block) {
          if ((group(item, n) + 1) * group_keys > seen.all) mask(scores[n][block], group(item, n), seen.lane[block]);
          send_maximum(shared, item, scores[n][block], group(item, n), block);
        }
      }
    }
  }

  // Weights of all own groups, sent with their group sums to every block of the cluster. The last warp writes the alphas of all
  // tiles and the part's maxima, for this block.
  __device__ __forceinline__ void compute_weights(DecodeShared<Shape>& shared, DecodeParams const& params, Item const& item,
                                                  Stages<Shape> const& stages) {
    uint32_t const warp = threadIdx.x / 32;
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const r = lane / 4;
    uint32_t const c = lane % 4;
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      uint32_t const row = block * 8 + 2 * c;
      // Lane (r, c) finds the running maxima of rows 2c and 2c + 1 after tile r.
      float2 most = {tile_maximum(shared, row, r), tile_maximum(shared, row + 1, r)};
#pragma unroll
      for (uint32_t distance = 1; distance < tiles_per_part; distance *= 2) {
        float2 const below = {__shfl_up_sync(0xffffffff, most.x, 4 * distance),
                              __shfl_up_sync(0xffffffff, most.y, 4 * distance)};
        if (r >= distance) most = {fmaxf(most.x, below.x), fmaxf(most.y, below.y)};
      }
      auto const weigh = [&](int n) {
        uint32_t const from = group(item, n) / groups_per_tile * 4 + c;
        float2 const scaled = {scaled_max(__shfl_sync(0xffffffff, most.x, from), params.scale_log2),
                               scaled_max(__shfl_sync(0xffffffff, most.y, from), params.scale_log2)};
        bool const exists = consumer_warps * n + warp < stages.own_groups;
        send_weights(shared, item, scores[n][block], params.scale_log2, scaled, group(item, n), block, exists);
      };
      // No branch between the groups, so that they overlap; but one around them when a short part has only the first.
      weigh(0);
      if (stages.own_groups > consumer_warps) {
#pragma unroll
        for (int n = 1; n < Shape::warp_groups; ++n) weigh(n);
      }
      if (warp == consumer_warps - 1) {
        float2 before = {__shfl_up_sync(0xffffffff, most.x, 4), __shfl_up_sync(0xffffffff, most.y, 4)};
        if (r == 0) before = {minus_infinity, minus_infinity};
        float2 const alpha = {rescale(before.x, most.x, params.scale_log2), rescale(before.y, most.y, params.scale_log2)};
        if (r < tiles_per_part) *reinterpret_cast<float2*>(&shared.alpha[r][row]) = alpha;
        if (r == stages.tiles - 1) *reinterpret_cast<float2*>(&shared.part_max[row]) = most;
      }
    }
  }

 private:
  static __device__ __forceinline__ void mask(float (&s)[4], int group, int2 seen) {
    int const key = group * group_keys + threadIdx.x % 32 / 4;
    if (key >= seen.x) s[0] = minus_infinity;
    if (key >= seen.y) s[1] = minus_infinity;
    if (key + 8 >= seen.x) s[2] = minus_infinity;
    if (key + 8 >= seen.y) s[3] = minus_infinity;
  }

  static __device__ __forceinline__ float tile_maximum(DecodeShared<Shape> const& shared, uint32_t row, uint32_t tile) {
    float4 const a = *reinterpret_cast<float4 const*>(&shared.group_max[row][tile * groups_per_tile]);
    float4 const b = *reinterpret_cast<float4 const*>(&shared.group_max[row][tile * groups_per_tile + 4]);
    return fmaxf(fmaxf(fmaxf(a.x, a.y), fmaxf(a.z, a.w)), fmaxf(fmaxf(b.x, b.y), fmaxf(b.z, b.w)));
  }

  static __device__ __forceinline__ void send_maximum(DecodeShared<Shape>& shared, Item const& item, float const (&s)[4],
                                                      int group, int block) {
    uint32_t const lane = threadIdx.x % 32;
    bool const odd = lane / 4 % 2;
    float const x = fmaxf(s[0], s[2]);
    float const y = fmaxf(s[1], s[3]);
    float most = fmaxf(odd ? y : x, __shfl_xor_sync(0xffffffff, odd ? x : y, 4)); // of row 2c + odd
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 8));
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 16));
    uint32_t const row = block * 8 + 2 * (lane % 4) + odd;
    if (lane < 8 && row < item.rows) {
      if constexpr (Shape::cluster == 1) {
        shared.group_max[row][group] = most;
      } else {
        uint32_t const own = shared_address(&shared.group_max[row][group]);
        uint32_t const barrier = shared_address(&shared.maxima_arrived);
#pragma unroll
        for (int rank = 0; rank < Shape::cluster; ++rank) {
          store_remote(remote_address(own, rank), most, remote_address(barrier, rank));
        }
      }
    }
  }

  // `scaled` belongs to the rows 2c and 2c + 1.
  static __device__ __forceinline__ void send_weights(DecodeShared<Shape>& shared, Item const& item, float const (&s)[4],
                                                      float scale, float2 scaled, int group, int block, bool exists) {
    uint32_t const lane = threadIdx.x % 32;
    float4 const w = {weight(s[0], scale, scaled.x), weight(s[1], scale, scaled.y), weight(s[2], scale, scaled.x),
                      weight(s[3], scale, scaled.y)};
    // Lanes of keys r and r ^ 1 exchange, so that the even one has both keys of row 2c and the odd one those of row 2c + 1.
    bool const odd = lane / 4 % 2;
    float const received = __shfl_xor_sync(0xffffffff, odd ? w.x : w.y, 4);
    float const received_8 = __shfl_xor_sync(0xffffffff, odd ? w.z : w.w, 4);
    float const w0 = odd ? received : w.x;
    float const w1 = odd ? w.y : received;
    float const w8 = odd ? received_8 : w.z;
    float const w9 = odd ? w.w : received_8;
    uint2 const weights = {pack_weights(w0, w1), pack_weights(w8, w9)};
    float const sum = group_sum(w0, w1, w8, w9);
    uint32_t const row = 2 * (lane % 4) + odd;
    uint32_t const place = row * 4 + lane / 8;
    if constexpr (Shape::cluster == 1) {
      shared.weights[group][block][place] = weights;
      shared.sums[group][block][place] = sum;
    } else if (exists && block * 8 + row < item.rows) {
      uint32_t const weights_address = shared_address(&shared.weights[group][block][place]);
      uint32_t const sums_address = shared_address(&shared.sums[group][block][place]);
      uint32_t const barrier = shared_address(&shared.weights_arrived);
#pragma unroll
      for (int rank = 0; rank < Shape::cluster; ++rank) {
        uint32_t const remote_barrier = remote_address(barrier, rank);
        store_remote(remote_address(weights_address, rank), weights, remote_barrier);
        store_remote(remote_address(sums_address, rank), sum, remote_barrier);
      }
    }
  }
};

// The part's sum of each row, by one warp: lane = row * 4 + class. Of a sequence of one part also the lse.
template <class Shape>
__device__ __forceinline__ void compute_sums(DecodeShared<Shape>& shared, DecodeParams const& params, Item const& item,
                                             int tiles) {
  uint32_t const lane = threadIdx.x % 32;
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    uint32_t const row = block * 8 + lane / 4;
    float sum = 0;
#pragma unroll 2
    for (int tile = 0; tile < tiles; ++tile) {
      float g[groups_per_tile];
#pragma unroll
      for (int i = 0; i < groups_per_tile; ++i) g[i] = shared.sums[tile * groups_per_tile + i][block][lane];
      float const of_tile = tile_sum(g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]);
      sum = tile == 0 ? of_tile : accumulate_sum(sum, shared.alpha[tile][row], of_tile);
    }
    // Addition commutes, so all four lanes of a row compute part_sum(l0, l1, l2, l3).
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, 1));
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, 2));
    if (lane % 4 == 0) {
      shared.part_sum[row] = sum;
      shared.part_inverse[row] = reciprocal(sum);
      if (item.parts == 1 && item.rank == 0 && params.lse && row < item.rows)
        write_lse(params, item, row, shared.part_max[row], sum);
    }
  }
}

// The output of 16 columns of the block, by one warp: the chain over the keys of all V stages. The chain itself is the longest
// dependent sequence of the kernel, so everything else in its loop is kept to a few instructions with addresses from registers.
template <class Shape>
class WarpOutput {
 public:
  float output[Shape::row_blocks][4];

  __device__ __forceinline__ void accumulate(DecodeShared<Shape>& shared, Stages<Shape> const& stages,
                                             RowsSeen<Shape> const& seen, RingPlace<Shape> place) {
    if ((stages.tiles - 1) * tile_keys < seen.all) {
      accumulate<false>(shared, stages.tiles, seen, place);
    } else {
      accumulate<true>(shared, stages.tiles, seen, place);
    }
  }

 private:
  static constexpr int half = groups_per_tile / 2; // groups whose operands are read ahead of their products
  static constexpr int half_bytes = half * group_keys * Shape::columns * 2;
  static constexpr int halves_a_stage = stage_bytes / half_bytes;
  static_assert(halves_a_stage >= 1);

  struct Operands {
    uint32_t a[half][4];
    uint2 weights[Shape::row_blocks][half];

    __device__ __forceinline__ void load(uint32_t values, uint32_t weights_address) {
#pragma unroll
      for (int i = 0; i < half; ++i) {
        load_matrix_x4_transposed(a[i], values + i * group_keys * Shape::columns * 2);
#pragma unroll
        for (int block = 0; block < Shape::row_blocks; ++block) {
          weights[block][i] = load_shared_pair(weights_address + (i * Shape::row_blocks + block) * 32 * sizeof(uint2));
        }
      }
    }
  };

  // Some: some row sees no key of some tile, and keeps its state over it.
  template <bool Some>
  __device__ __forceinline__ void accumulate(DecodeShared<Shape>& shared, int tiles, RowsSeen<Shape> const& seen,
                                             RingPlace<Shape> place) {
    uint32_t const lane = threadIdx.x % 32;
    uint32_t stages_address =
        shared_address(shared.stages) +
        chunk_offset<Shape::value_chunks>(lane % 8 + lane / 16 * 8, 2 * (threadIdx.x / 32) + lane / 8 % 2);
    uint32_t full = shared_address(shared.full);
    uint32_t weights = shared_address(&shared.weights[0][0][lane]);
    uint32_t alpha = shared_address(&shared.alpha[0][2 * (lane % 4)]);
    uint32_t releases = lane == 0;
    uint32_t left = tiles;
    for (uint32_t* value : {&stages_address, &full, &weights, &alpha, &releases, &left}) compute_now(*value);

    auto const enter_stage = [&] {
      barrier_wait<false>(full + place.buffer * 8, place.phase);
      return stages_address + place.buffer * stage_bytes;
    };
    auto const leave_stage = [&] {
      __syncwarp();
      if (releases) {
        barrier_arrive(full + (Shape::stages + place.buffer) * 8,
                       consumer_warps / Shape::value_warps); // empty[] follows full[]
      }
      place.advance();
    };
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) output[block][i] = 0;
    }
    Operands even, odd;
    uint32_t values = enter_stage();
    uint32_t halves_in_stage = 0;
    even.load(values, weights);
    int first_key = 0;
    uint2 alphas[Shape::row_blocks];
    auto const read_alphas = [&] {
#pragma unroll
      for (int block = 0; block < Shape::row_blocks; ++block)
        alphas[block] = load_shared_pair(alpha + block * 8 * sizeof(float));
    };
    read_alphas();
#pragma unroll 1
    while (true) {
      float before[Shape::row_blocks][4];
      if constexpr (halves_a_stage == 1) {
        leave_stage();
        values = enter_stage();
      } else {
        values += half_bytes;
      }
      odd.load(values, weights + half * Shape::row_blocks * 32 * sizeof(uint2));
      weights += groups_per_tile * Shape::row_blocks * 32 * sizeof(uint2);
#pragma unroll
      for (int block = 0; block < Shape::row_blocks; ++block) {
        // At the start of a part alpha is 0 and the output +0, and so is the product.
        float2 const factors = {__uint_as_float(alphas[block].x), __uint_as_float(alphas[block].y)};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if constexpr (Some) before[block][i] = output[block][i];
          output[block][i] = rescale_output(output[block][i], i % 2 == 0 ? factors.x : factors.y);
        }
      }
      alpha += Shape::block_rows * sizeof(float);
      multiply(even);
      read_alphas(); // after the last tile of a part what lies behind its alphas, unused
      left -= 1;
      halves_in_stage += 2;
      if (halves_a_stage == 1 || halves_in_stage == halves_a_stage) {
        leave_stage();
        halves_in_stage = 0;
        if (left > 0) values = enter_stage();
      } else {
        values += half_bytes;
      }
      if (left > 0) even.load(values, weights);
      multiply(odd);
      if constexpr (Some) {
        if (first_key >= seen.all) {
#pragma unroll
          for (int block = 0; block < Shape::row_blocks; ++block) {
            if (first_key >= seen.lane[block].x) output[block][0] = before[block][0], output[block][2] = before[block][2];
            if (first_key >= seen.lane[block].y) output[block][1] = before[block][1], output[block][3] = before[block][3];
          }
        }
        first_key += tile_keys;
      }
      if (left == 0) break;
    }
  }

  __device__ __forceinline__ void multiply(Operands const& operands) {
#pragma unroll
    for (int i = 0; i < half; ++i) {
#pragma unroll
      for (int block = 0; block < Shape::row_blocks; ++block) {
        multiply_k16(output[block], operands.a[i], operands.weights[block][i].x, operands.weights[block][i].y);
      }
    }
  }
};

} // namespace tik::attention::sm90
