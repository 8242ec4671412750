// What a block of the decode kernel computes between its loads and its result: scores, weights, sums, output.
#pragma once

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

// Scores of the groups of one stage, one group a warp, stored to every block of the cluster. Keys that a row does not see, those
// past the sequence's end among them, get -infinity.
template <class Shape>
__device__ __forceinline__ void compute_scores(DecodeShared<Shape>& shared, Item const& item, RowsSeen<Shape> const& seen,
                                               QueryFragments<Shape> const& queries, int stage, int tiles) {
  uint32_t const warp = threadIdx.x / 32;
  uint32_t const lane = threadIdx.x % 32;
  constexpr int shares = decode_warps / Shape::groups_per_stage; // stages that warps take in turn
  if (stage % shares != warp / Shape::groups_per_stage) return;
  int const in_stage = warp % Shape::groups_per_stage;
  int const group = item.rank + Shape::cluster * (stage * Shape::groups_per_stage + in_stage);
  if (group >= tiles * groups_per_tile) return;

  uint32_t const buffer = shared_address(shared.stages[stage % Shape::stages]);
  float scores[Shape::row_blocks][4] = {};
#pragma unroll
  for (int step = 0; step < Shape::head_dim / 16; ++step) {
    uint32_t a[4];
    load_matrix_x4(a, buffer + chunk_offset<Shape::key_chunks>(in_stage * group_keys + lane % 16, 2 * step + lane / 16));
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      multiply_k16(scores[block], a, queries.b[block][step][0], queries.b[block][step][1]);
    }
  }
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    int const key = group * group_keys + lane / 4;
    if (key >= seen.lane[block].x) scores[block][0] = minus_infinity;
    if (key >= seen.lane[block].y) scores[block][1] = minus_infinity;
    if (key + 8 >= seen.lane[block].x) scores[block][2] = minus_infinity;
    if (key + 8 >= seen.lane[block].y) scores[block][3] = minus_infinity;
    GroupSlot& slot = shared.groups[group][block];
    if constexpr (Shape::cluster == 1) {
      slot.scores[lane] = make_float4(scores[block][0], scores[block][1], scores[block][2], scores[block][3]);
    } else {
      uint32_t const own = shared_address(&slot.scores[lane]);
      uint32_t const barrier = shared_address(&shared.scores_arrived);
#pragma unroll
      for (int rank = 0; rank < Shape::cluster; ++rank) {
        store_remote(remote_address(own, rank), scores[block], remote_address(barrier, rank));
      }
    }
  }
}

// The weights of a group in place of its scores, and its group sums. `scaled` belongs to the rows 2c and 2c + 1.
__device__ __forceinline__ void weigh_group(GroupSlot& slot, float scale, float2 scaled) {
  uint32_t const lane = threadIdx.x % 32;
  float4 const s = slot.scores[lane];
  float4 const w = {weight(s.x, scale, scaled.x), weight(s.y, scale, scaled.y), weight(s.z, scale, scaled.x),
                    weight(s.w, scale, scaled.y)};
  // Lanes of keys r and r ^ 1 exchange, so that the even one has both keys of row 2c and the odd one those of row 2c + 1.
  bool const odd = lane / 4 % 2;
  float const received = __shfl_xor_sync(0xffffffff, odd ? w.x : w.y, 4);
  float const received_8 = __shfl_xor_sync(0xffffffff, odd ? w.z : w.w, 4);
  float const w0 = odd ? received : w.x;
  float const w1 = odd ? w.y : received;
  float const w8 = odd ? received_8 : w.z;
  float const w9 = odd ? w.w : received_8;
  int const place = (2 * (lane % 4) + odd) * 4 + lane / 8;
  slot.weights[place] = {pack_weights(w0, w1), pack_weights(w8, w9)};
  slot.sums[place] = group_sum(w0, w1, w8, w9);
}

// The weights of all keys of the part, in place of their scores, with group sums, tile maxima and rescale factors. Warps share
// the tiles evenly: 8, 4, 2 or 1 a tile. Ends without a barrier.
template <class Shape>
__device__ __forceinline__ void compute_weights(DecodeShared<Shape>& shared, DecodeParams const& params, int tiles) {
  uint32_t const warp = threadIdx.x / 32;
  uint32_t const lane = threadIdx.x % 32;
  int const warps_a_tile = tiles == 1 ? 8 : tiles == 2 ? 4 : tiles <= 4 ? 2 : 1;
  int const tile = warp / warps_a_tile;
  int const share = warp % warps_a_tile;
  int const pair = 2 * (lane % 4); // rows 2c and 2c + 1
  bool const writes = share == 0 && lane < 4;

  if (tile < tiles) {
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      float2 most = {minus_infinity, minus_infinity};
#pragma unroll
      for (int g = 0; g < groups_per_tile; ++g) {
        float4 const s = shared.groups[tile * groups_per_tile + g][block].scores[lane];
        most.x = fmaxf(most.x, fmaxf(s.x, s.z));
        most.y = fmaxf(most.y, fmaxf(s.y, s.w));
      }
#pragma unroll
      for (int distance = 4; distance < 32; distance *= 2) {
        most.x = fmaxf(most.x, __shfl_xor_sync(0xffffffff, most.x, distance));
        most.y = fmaxf(most.y, __shfl_xor_sync(0xffffffff, most.y, distance));
      }
      if (writes) *reinterpret_cast<float2*>(&shared.tile_max[tile][block * 8 + pair]) = most;
    }
  }
  __syncthreads();
  if (tile >= tiles) return;

#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    float2 before = {minus_infinity, minus_infinity};
    float2 now = *reinterpret_cast<float2 const*>(&shared.tile_max[tile][block * 8 + pair]);
#pragma unroll
    for (int t = 0; t < tiles_per_part - 1; ++t) {
      float2 const m = *reinterpret_cast<float2 const*>(&shared.tile_max[t][block * 8 + pair]);
      before.x = t < tile ? fmaxf(before.x, m.x) : before.x;
      before.y = t < tile ? fmaxf(before.y, m.y) : before.y;
    }
    now = {fmaxf(before.x, now.x), fmaxf(before.y, now.y)};
    if (writes) {
      *reinterpret_cast<float2*>(&shared.alpha[tile][block * 8 + pair]) = {rescale(before.x, now.x, params.scale_log2),
                                                                           rescale(before.y, now.y, params.scale_log2)};
    }
    float2 const scaled = {scaled_max(now.x, params.scale_log2), scaled_max(now.y, params.scale_log2)};
    if (warps_a_tile == 1) {
#pragma unroll
      for (int g = 0; g < groups_per_tile; ++g) {
        weigh_group(shared.groups[tile * groups_per_tile + g][block], params.scale_log2, scaled);
      }
    } else {
#pragma unroll 1
      for (int g = share; g < groups_per_tile; g += warps_a_tile) {
        weigh_group(shared.groups[tile * groups_per_tile + g][block], params.scale_log2, scaled);
      }
    }
  }
}

// The part's maximum and sum of each row, by one warp: lane = row * 4 + class.
template <class Shape>
__device__ __forceinline__ void compute_sums(DecodeShared<Shape>& shared, int tiles) {
  uint32_t const lane = threadIdx.x % 32;
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    int const row = block * 8 + lane / 4;
    float sum = 0;
    float most = minus_infinity;
    for (int tile = 0; tile < tiles; ++tile) {
      float g[groups_per_tile];
#pragma unroll
      for (int i = 0; i < groups_per_tile; ++i) g[i] = shared.groups[tile * groups_per_tile + i][block].sums[lane];
      float const of_tile = tile_sum(g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]);
      sum = tile == 0 ? of_tile : accumulate_sum(sum, shared.alpha[tile][row], of_tile);
      most = fmaxf(most, shared.tile_max[tile][row]);
    }
    // Addition commutes, so all four lanes of a row compute part_sum(l0, l1, l2, l3).
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, 1));
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, 2));
    if (lane % 4 == 0) {
      shared.part_sum[row] = sum;
      shared.part_max[row] = most;
    }
  }
}

// The chain over the keys of one V stage for 16 columns of the block, by one warp.
template <class Shape>
__device__ __forceinline__ void accumulate_output(DecodeShared<Shape> const& shared, RowsSeen<Shape> const& seen,
                                                  uint32_t buffer, int value_stage, int tiles, float (&output)[Shape::row_blocks][4],
                                                  float (&before_tile)[Shape::row_blocks][4]) {
  uint32_t const warp = threadIdx.x / 32;
  uint32_t const lane = threadIdx.x % 32;
  int const first_group = value_stage * (Shape::value_rows / group_keys);
  int const groups = min(Shape::value_rows / group_keys, tiles * groups_per_tile - first_group);
  constexpr int ahead = 4; // groups read before the first is multiplied; half a tile
  static_assert(Shape::value_rows % (ahead * group_keys) == 0 && groups_per_tile == 2 * ahead);
  uint32_t const first_row = lane % 8 + lane / 16 * 8;
  uint32_t const row_address = buffer + chunk_offset<Shape::value_chunks>(first_row, 2 * warp + lane / 8 % 2);
#pragma unroll 1
  for (int g = 0; g < groups; g += ahead) {
    int const group = first_group + g;
    int const tile = group / groups_per_tile;
    bool const starts_tile = group % groups_per_tile == 0;
    uint32_t a[ahead][4];
    uint2 weights[Shape::row_blocks][ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      load_matrix_x4_transposed(a[i], row_address + (g + i) * group_keys * Shape::columns * 2);
#pragma unroll
      for (int block = 0; block < Shape::row_blocks; ++block) weights[block][i] = shared.groups[group + i][block].weights[lane];
    }
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      if (starts_tile) {
        // At the start of a part alpha is 0 and the output +0, and so is the product.
        float2 const alpha = *reinterpret_cast<float2 const*>(&shared.alpha[tile][block * 8 + 2 * (lane % 4)]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          before_tile[block][i] = output[block][i];
          output[block][i] = rescale_output(output[block][i], i % 2 == 0 ? alpha.x : alpha.y);
        }
      }
#pragma unroll
      for (int i = 0; i < ahead; ++i) multiply_k16(output[block], a[i], weights[block][i].x, weights[block][i].y);
      // A row keeps its state over a tile in which it sees no key.
      if (!starts_tile && tile * tile_keys >= seen.all) {
        bool const unseen_x = tile * tile_keys >= seen.lane[block].x;
        bool const unseen_y = tile * tile_keys >= seen.lane[block].y;
        if (unseen_x) output[block][0] = before_tile[block][0], output[block][2] = before_tile[block][2];
        if (unseen_y) output[block][1] = before_tile[block][1], output[block][3] = before_tile[block][3];
      }
    }
  }
}

}  // namespace tik::attention::sm90
