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

__device__ __forceinline__ void mask(float (&s)[4], int group, int2 seen) {
  int const key = group * group_keys + threadIdx.x % 32 / 4;
  if (key >= seen.x) s[0] = minus_infinity;
  if (key >= seen.y) s[1] = minus_infinity;
  if (key + 8 >= seen.x) s[2] = minus_infinity;
  if (key + 8 >= seen.y) s[3] = minus_infinity;
}

// A group's scores of rows 2c and 2c + 1 as those of one row: lanes of keys r and r ^ 1 exchange, so that the even one has keys
// 2t, 2t + 1, 2t + 8, 2t + 9 of row 2c and the odd one those of row 2c + 1, t = r / 2.
__device__ __forceinline__ float4 keys_of_a_row(float const (&s)[4]) {
  bool const odd = threadIdx.x / 4 % 2;
  float const received = __shfl_xor_sync(0xffffffff, odd ? s[0] : s[1], 4);
  float const received_8 = __shfl_xor_sync(0xffffffff, odd ? s[2] : s[3], 4);
  return odd ? make_float4(received, s[1], received_8, s[3]) : make_float4(s[0], received, s[2], received_8);
}

// Stores a group's scores in every block that shares the item.
template <class Shape>
__device__ __forceinline__ void send_scores(DecodeShared<Shape>& shared, Item const& item, float const (&s)[4], int group,
                                            int block) {
  uint32_t const lane = threadIdx.x % 32;
  float4 const scores = keys_of_a_row(s);
  uint32_t const row = 2 * (lane % 4) + lane / 4 % 2;
  float4& place = shared.tiles[group / groups_per_tile].scores[group % groups_per_tile][block][row * 4 + lane / 8];
  if constexpr (Shape::cluster == 1) {
    place = scores;
  } else if (block * 8 + row < item.rows) {
    uint32_t const own = shared_address(&place);
    uint32_t const barrier = shared_address(&shared.scores_arrived);
#pragma unroll
    for (int rank = 0; rank < Shape::cluster; ++rank) {
      uint32_t const block = block_of<Shape>(item.part, rank);
      store_remote(remote_address(own, block), scores, remote_address(barrier, block));
    }
  }
}

// The scores of this block's groups of 16 keys, sent to every block of the cluster: -infinity for keys that a row does not see,
// those past the sequence's end among them. Group n of warp w is group rank + Cluster * (8n + w) of the part. A block alone
// reads its queries from shared memory, at `query_rows`.
template <class Shape>
__device__ __forceinline__ void compute_scores(DecodeShared<Shape>& shared, Item const& item, Stages<Shape> const& stages,
                                               RowsSeen<Shape> const& seen, uint8_t const* query_rows, RingPlace<Shape> place) {
  QueryFragments<Shape> queries;
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
    if (n == 0) queries.read(query_rows);
    float scores[Shape::row_blocks][4] = {};
#pragma unroll
    for (int step = 0; step < Shape::head_dim / 16; ++step) {
      uint32_t a[4];
      load_matrix_x4(a, in_stage[step % 4] + place.buffer * stage_bytes + step / 4 * 128);
#pragma unroll
      for (int block = 0; block < Shape::row_blocks; ++block) {
        multiply_k16(scores[block], a, queries.b[block][step][0], queries.b[block][step][1]);
      }
    }
    release_stage(shared, place, Shape::groups_per_stage);
    place.advance(Shape::warp_shares);
    if (consumer_warps * n + warp < stages.own_groups) {
      int const group = item.rank + Shape::cluster * (consumer_warps * n + warp);
#pragma unroll
      for (int block = 0; block < Shape::row_blocks; ++block) {
        if ((group + 1) * group_keys > seen.all) mask(scores[block], group, seen.lane[block]);
        send_scores(shared, item, scores[block], group, block);
      }
    }
  }
}

// The weights of a part from its scores, in their place, each warp those of a tile: also the row sums of the tile, the alphas
// and the part's maxima. All consumer warps, because they exchange the maxima of their tiles. A lane has one row and class;
// with up to four rows (Halves 2) half of the warp takes half of the tile's groups.
template <class Shape, int Halves>
__device__ __forceinline__ void compute_weights(DecodeShared<Shape>& shared, DecodeParams const& params, int tiles) {
  static_assert(tiles_per_part == consumer_warps && (Halves == 1 || Shape::row_blocks == 1));
  constexpr int own_groups = groups_per_tile / Halves;
  int const tile = threadIdx.x / 32;
  uint32_t const lane = threadIdx.x % (32 / Halves);
  uint32_t const first = threadIdx.x % 32 / (32 / Halves) * own_groups;
  Tile<Shape>& own = shared.tiles[tile];
  bool const exists = tile < tiles;
  float4 scores[own_groups];
  auto const read_scores = [&](int block) {
#pragma unroll
    for (int i = 0; i < own_groups; ++i) scores[i] = own.scores[first + i][block][lane];
  };
  float of_tile[Shape::row_blocks];
  if (exists) {
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      read_scores(block);
      float most = minus_infinity;
#pragma unroll
      for (int i = 0; i < own_groups; ++i) {
        most = fmaxf(most, fmaxf(fmaxf(scores[i].x, scores[i].y), fmaxf(scores[i].z, scores[i].w)));
      }
      most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
      if constexpr (Halves == 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 16));
      of_tile[block] = most;
      shared.tile_max[tile][block * 8 + lane / 4] = most;
    }
  }
  named_barrier(consumers_barrier, consumer_threads);
  if (!exists) return;
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    int const row = block * 8 + lane / 4;
    float before = minus_infinity;
#pragma unroll
    for (int t = 0; t < tiles_per_part - 1; ++t)
      before = t < tile ? reference(before, shared.tile_max[t][row], params.scale_log2) : before;
    float const most = reference(before, of_tile[block], params.scale_log2);
    float const scaled = scaled_max(most, params.scale_log2);
    if (Shape::row_blocks > 1) read_scores(block); // again: registers do not hold those of two blocks
    float sums[own_groups];
    uint2 weights[own_groups];
#pragma unroll
    for (int i = 0; i < own_groups; ++i) {
      float4 const s = scores[i];
      float4 const w = {weight(s.x, params.scale_log2, scaled), weight(s.y, params.scale_log2, scaled),
                        weight(s.z, params.scale_log2, scaled), weight(s.w, params.scale_log2, scaled)};
      weights[i] = {pack_weights(w.x, w.y), pack_weights(w.z, w.w)};
      sums[i] = group_sum(w.x, w.y, w.z, w.w);
    }
#pragma unroll
    for (int i = 0; i < own_groups; i += 2) {
      own.weights[(first + i) / 2][block][lane] = {weights[i].x, weights[i].y, weights[i + 1].x, weights[i + 1].y};
    }
    float of_lane = half_sum(sums[0], sums[1], sums[2], sums[3]);
    if constexpr (Halves == 2) {
      of_lane = tile_sum(of_lane, __shfl_xor_sync(0xffffffff, of_lane, 16));
    } else {
      of_lane = tile_sum(of_lane, half_sum(sums[4], sums[5], sums[6], sums[7]));
    }
    shared.tile_sums[tile][block][lane] = of_lane;
    if (lane % 4 == 0) {
      shared.alpha[tile][row] = rescale(before, most, params.scale_log2); // 0 for the first tile of a part
      if (tile == tiles - 1) shared.part_max[row] = most;
    }
  }
}

// The part's sum of each row, by one warp: lane = row * 4 + class. Of a sequence of one part also the lse.
template <class Shape>
__device__ __forceinline__ void compute_sums(DecodeShared<Shape>& shared, DecodeParams const& params, Item const& item,
                                             int tiles) {
  uint32_t const lane = threadIdx.x % 32;
#pragma unroll
  for (int block = 0; block < Shape::row_blocks; ++block) {
    uint32_t const row = block * 8 + lane / 4;
    float sum = shared.tile_sums[0][block][lane];
#pragma unroll
    for (int tile = 1; tile < tiles_per_part; ++tile) {
      if (tile < tiles) sum = accumulate_sum(sum, shared.alpha[tile][row], shared.tile_sums[tile][block][lane]);
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
  // Groups whose operands are read before the products of as many earlier ones: those of a tile, or half of them.
  static constexpr bool whole_tiles =
      Shape::row_blocks == 1 && Shape::value_rows >= tile_keys && Shape::blocks_per_multiprocessor == 1;
  static constexpr int batch = whole_tiles ? groups_per_tile : groups_per_tile / 2;
  static constexpr int batches_a_tile = groups_per_tile / batch;
  static constexpr int batch_bytes = batch * group_keys * Shape::columns * 2;
  static constexpr int batches_a_stage = stage_bytes / batch_bytes;
  static constexpr int tile_weights_bytes = groups_per_tile / 2 * Shape::row_blocks * 32 * sizeof(uint4);
  static_assert(batches_a_stage >= 1);

  struct Operands {
    uint32_t a[batch][4];
    uint4 weights[Shape::row_blocks][batch / 2];

    // Those of one group; of an even one the weights of the next, too.
    __device__ __forceinline__ void load(int group, uint32_t values, uint32_t weights_address) {
      load_matrix_x4_transposed(a[group], values + group * group_keys * Shape::columns * 2);
      if (group % 2 == 1) return;
#pragma unroll
      for (int block = 0; block < Shape::row_blocks; ++block) {
        weights[block][group / 2] =
            load_shared_four(weights_address + (group / 2 * Shape::row_blocks + block) * 32 * sizeof(uint4));
      }
    }
    __device__ __forceinline__ void load(uint32_t values, uint32_t weights_address) {
#pragma unroll
      for (int group = 0; group < batch; ++group) load(group, values, weights_address);
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
    uint32_t weights = shared_address(&shared.tiles[0].weights[0][0][lane]);
    uint32_t alpha = shared_address(&shared.alpha[0][2 * (lane % 4)]);
    uint32_t releases = every_lane_arrives || lane == 0;
    for (uint32_t* value : {&stages_address, &full, &weights, &alpha, &releases}) compute_now(*value);
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) output[block][i] = 0;
    }
    Operands even, odd;
    uint2 alphas[Shape::row_blocks];
    auto const read_alphas = [&] {
#pragma unroll
      for (int block = 0; block < Shape::row_blocks; ++block)
        alphas[block] = load_shared_pair(alpha + block * 8 * sizeof(float));
      alpha += Shape::block_rows * sizeof(float);
    };
    barrier_wait<false>(full + place.buffer * 8, place.phase);
    uint32_t values = stages_address + place.buffer * stage_bytes;
    even.load(values, weights);
    read_alphas();
    int const batches = tiles * batches_a_tile;
    float before[Shape::row_blocks][4];
    // The products of one batch, while the operands of the next are on their way.
    auto const step = [&](int done, Operands const& operands, Operands& next) {
      bool const first = done % batches_a_tile == 0;
      bool const last = (done + 1) % batches_a_tile == 0;
      bool const more = done + 1 < batches;
      values += batch_bytes;
      weights += last ? sizeof(Tile<Shape>) - (batches_a_tile - 1) * (tile_weights_bytes / batches_a_tile)
                      : tile_weights_bytes / batches_a_tile;
      bool ready = more;
      bool const leaves = (done + 1) % batches_a_stage == 0 || !more;
      if (leaves) {
        __syncwarp();
        if (releases) {
          barrier_arrive(full + (Shape::stages + place.buffer) * 8,
                         consumer_warps / Shape::value_warps); // empty[] follows full[]
        }
        place.advance();
        values = stages_address + place.buffer * stage_bytes;
        ready = more && barrier_test(full + place.buffer * 8, place.phase);
      }
      if (first) {
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
        read_alphas(); // after the last tile of a part what lies behind its alphas, unused
      }
      if (ready) {
#pragma unroll
        for (int group = 0; group < batch; ++group) {
          multiply(operands, group);
          next.load(group, values, weights);
        }
      } else {
#pragma unroll
        for (int group = 0; group < batch; ++group) multiply(operands, group);
        if (more) {
          barrier_wait<false>(full + place.buffer * 8, place.phase);
          next.load(values, weights);
        }
      }
      if constexpr (Some) {
        int const first_key = done / batches_a_tile * tile_keys;
        if (last && first_key >= seen.all) {
#pragma unroll
          for (int block = 0; block < Shape::row_blocks; ++block) {
            if (first_key >= seen.lane[block].x) output[block][0] = before[block][0], output[block][2] = before[block][2];
            if (first_key >= seen.lane[block].y) output[block][1] = before[block][1], output[block][3] = before[block][3];
          }
        }
      }
    };
#pragma unroll 1
    for (int done = 0; done < batches; done += 2) {
      step(done, even, odd);
      if (batches_a_tile == 1 && done + 1 == batches) break;
      step(done + 1, odd, even);
    }
  }

  __device__ __forceinline__ void multiply(Operands const& operands, int i) {
#pragma unroll
    for (int block = 0; block < Shape::row_blocks; ++block) {
      uint4 const weights = operands.weights[block][i / 2];
      multiply_k16(output[block], operands.a[i], i % 2 == 0 ? weights.x : weights.z, i % 2 == 0 ? weights.y : weights.w);
    }
  }
};

} // namespace tik::attention::sm90
