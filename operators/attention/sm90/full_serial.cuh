// A consumer of the full-sequence kernel: a warp group that computes 64 query rows of each item, one thing after the other:
// scores, softmax, output. While one group multiplies, the others compute their weights.
//
// Serves what has little to overlap: head_dim 64, whose products are short, with three groups a multiprocessor; and short
// sequences with two, where the start and the end of an item count more than its middle. full_overlapped.cuh serves the rest
// and says which lane holds what.
#pragma once

#include "operators/attention/sm90/full_output.cuh"
#include "operators/attention/sm90/full_ptx.cuh"
#include "operators/attention/sm90/full_shared.cuh"
#include "operators/attention/sm90/full_softmax.cuh"
#include "operators/attention/sm90/full_work.cuh"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::attention::sm90 {

template <typename Shared>
class SerialConsumer {
 public:
  static constexpr int head_dim = Shared::head_dim;

  __device__ __forceinline__ SerialConsumer(Shared& shared, FullParameters const& parameters)
      : shared_(shared),
        parameters_(parameters),
        group_(__shfl_sync(~0u, threadIdx.x / group_threads, 0)),
        arrives_(every_lane_arrives || threadIdx.x % 32 == 0) {}

  // Takes items until none is left.
  __device__ __forceinline__ void run() {
    Pipe<1> query_pipe;
    while (true) {
      ptx::wait(shared_.queries_full[group_], query_pipe.parity);
      query_pipe.advance();
      WorkItem const item = shared_.items[group_];
      __syncwarp(); // every lane has read the item before one of them gives the queries back
      if (item.sequence < 0) break;
      int const first = item.block * Shared::block_rows + group_ * group_rows; // position of this group's first row
      bool const has_rows = first < item.length && first + group_rows > item.first_position;
      int const block_end = min((item.block + 1) * Shared::block_rows, item.length);
      int const block_tiles = (block_end - 1) / tile_keys + 1;
      int const tiles = has_rows ? first / tile_keys + 1 : 0;
      if (has_rows) {
        float o[head_dim / 2];
        RowState total;
        compute(o, total, tiles, first % tile_keys == 0);
        write_rows<head_dim>(o, total, item, parameters_, first + row_in_group());
      } else {
        release(shared_.queries_empty[group_]);
      }
      pass(block_tiles - tiles);
    }
  }

 private:
  static constexpr uint32_t tile_bytes = tile_keys * head_dim * sizeof(Bf16);

  // The lane's other row is 8 further on.
  __device__ __forceinline__ int row_in_group() const { return threadIdx.x % group_threads / 32 * 16 + threadIdx.x % 32 / 4; }

  __device__ __forceinline__ void release(uint64_t& barrier) {
    if (arrives_) ptx::arrive(barrier);
  }
  __device__ __forceinline__ void wait_keys() { ptx::wait(shared_.keys_full[pipe_.stage], pipe_.parity); }
  __device__ __forceinline__ void wait_values() { ptx::wait(shared_.values_full[pipe_.stage], pipe_.parity); }

  // Gives back tiles that only other groups of the block need.
  __device__ __forceinline__ void pass(int tiles) {
    for (; tiles > 0; --tiles) {
      wait_keys();
      release(shared_.keys_empty[pipe_.stage]);
      wait_values();
      release(shared_.values_empty[pipe_.stage]);
      pipe_.advance();
    }
  }

  // s = q x k for the first `keys` keys of the tile, one chain over head_dim from +0.
  template <int keys>
  __device__ __forceinline__ void multiply_scores(float (&s)[keys / 2]) {
    uint32_t const q = ptx::matrix_start(shared_.queries + group_ * group_rows * 64, 0);
    uint32_t const k = ptx::advance(ptx::matrix_start(shared_.keys[0], 0), pipe_.stage * tile_bytes);
    ptx::wgmma_fence();
#pragma unroll
    for (int column = 0; column < head_dim; column += 16) {
      uint32_t const within = column % 64 * sizeof(Bf16);
      uint32_t const block = column / 64;
      ptx::multiply_shared(s, ptx::advance(q, block * Shared::block_rows * 128 + within),
                           ptx::advance(k, block * tile_keys * 128 + within), column != 0);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::pin(s);
    release(shared_.keys_empty[pipe_.stage]);
  }

  // o = (accumulate ? o : 0) + w x v for the first `keys` keys of the tile, one chain. The steps left out would add +0.
  template <int keys>
  __device__ __forceinline__ void multiply_values(float (&o)[head_dim / 2], uint32_t const (&w)[keys / 4], bool accumulate) {
    uint32_t const v = ptx::advance(ptx::matrix_start(shared_.values[0], tile_keys * 128), pipe_.stage * tile_bytes);
    ptx::pin(o);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < keys / 16; ++step) {
      ptx::multiply_registers(o, &w[4 * step], ptx::advance(v, step * 16 * 128), step != 0 || accumulate);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::pin(o);
    release(shared_.values_empty[pipe_.stage]);
    pipe_.advance();
  }

  // One tile of a part: the first `keys` of its keys, cut by the mask when it is the last of the item.
  template <int keys, bool last>
  __device__ __forceinline__ void run_tile(float (&o)[head_dim / 2], RowState& part, bool first_of_part) {
    float s[keys / 2];
    uint32_t w[keys / 4];
    float alpha[2];
    wait_keys();
    multiply_scores<keys>(s);
    if constexpr (last) {
      release(shared_.queries_empty[group_]);
      mask_scores<keys>(s, keys - group_rows, row_in_group() + keys - group_rows);
    }
    weigh<keys>(s, part, alpha, parameters_.scale_log2, parameters_.zero);
    // The first tile of a part multiplies by zero, and its product ignores the result; most others by 1 in all rows, which
    // three groups do: with a branch ptxas lacks registers and waits for each step of their products.
    if (Shared::groups == 3 || moves(alpha)) rescale_rows(o, alpha);
    pack<keys>(w, s);
    wait_values();
    multiply_values<keys>(o, w, !first_of_part);
  }

  // All tiles of the group's rows. The last is the one that holds them: they are its first or its second half.
  __device__ __forceinline__ void compute(float (&o)[head_dim / 2], RowState& total, int tiles, bool first_half) {
    auto& store = shared_.total[group_];
    float const scale = parameters_.scale_log2;
    RowState part;
    part.restart();
#pragma unroll 1
    for (int tile = 0; tile < tiles - 1; ++tile) {
      run_tile<tile_keys, false>(o, part, tile % tiles_per_part == 0);
      if (tile % tiles_per_part == tiles_per_part - 1) [[unlikely]] {
        fold_part<head_dim, false>(o, part, total, store, tile < tiles_per_part, scale);
        part.restart();
      }
    }
    bool const first_of_part = (tiles - 1) % tiles_per_part == 0;
    if (first_half) {
      run_tile<group_rows, true>(o, part, first_of_part);
    } else {
      run_tile<tile_keys, true>(o, part, first_of_part);
    }
    fold_part<head_dim, true>(o, part, total, store, tiles <= tiles_per_part, scale);
  }

  Shared& shared_;
  FullParameters const& parameters_;
  int const group_;
  bool const arrives_;
  Pipe<Shared::stages> pipe_;
};

} // namespace tik::attention::sm90
