// A consumer of the full-sequence kernel: a warp group that computes 64 query rows of each item, one of two that share a
// multiprocessor. For head_dim 128 and all but short sequences; full_serial.cuh serves the rest.
//
// A lane holds rows `quad` and `quad + 8` of its warp's 16 and, of each 8 columns, numbers 2 * lane_in_quad + {0, 1}: element
// 4 * block + 2 * half + i of an accumulator is column 8 * block + 2 * lane_in_quad + i of row quad + 8 * half.
//
// The scores of a tile are multiplied together with the product of the weights before it and V. The two groups take turns at
// issuing these, so that the softmax of one runs under the products of the other.
#pragma once

#include "operators/attention/sm90/full_output.cuh"
#include "operators/attention/sm90/full_ptx.cuh"
#include "operators/attention/sm90/full_shared.cuh"
#include "operators/attention/sm90/full_softmax.cuh"
#include "operators/attention/sm90/full_work.cuh"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::attention::sm90 {

enum NamedBarrier : uint32_t { first_group_turn = 1 }; // + group

template <typename Shared, int group>
class OverlappedConsumer {
 public:
  static constexpr int head_dim = Shared::head_dim;
  static constexpr int block_rows = Shared::block_rows;
  static_assert(Shared::groups == 2 && block_rows == tile_keys, "the last tile of an item is the one that the mask cuts");

  __device__ __forceinline__ OverlappedConsumer(Shared& shared, FullParameters const& parameters)
      : shared_(shared), parameters_(parameters), arrives_(every_lane_arrives || threadIdx.x % 32 == 0) {}

  // Takes items until none is left.
  __device__ __forceinline__ void run() {
    Pipe<1> query_pipe;
    if (group == 1) pass_turn(); // the first turn is group 0's
    while (true) {
      ptx::wait(shared_.queries_full, query_pipe.parity);
      query_pipe.advance();
      WorkItem const item = shared_.item;
      __syncwarp(); // every lane has read the item before one of them gives the queries back
      if (item.sequence < 0) break;
      float o[head_dim / 2];
      RowState total;
      if (item.block == 0) {
        compute_single_tile(o, total);
      } else {
        compute_tiles(o, total, item.block + 1);
      }
      write_rows<head_dim>(o, total, item, parameters_, item.block * block_rows + first_row());
    }
    if (group == 0) wait_for_turn(); // takes the turn that was left over
  }

 private:
  // Keys of the last tile, the one that the mask cuts, that any row of this group sees.
  static constexpr int last_keys = (group + 1) * group_rows;
  static_assert(tiles_per_part > 1, "the first tile of an item does not end a part");
  static constexpr uint32_t tile_bytes = tile_keys * head_dim * sizeof(Bf16);

  // Within the block; the lane's other row is 8 further on.
  __device__ __forceinline__ int first_row() const {
    return group * group_rows + threadIdx.x % group_threads / 32 * 16 + threadIdx.x % 32 / 4;
  }

  __device__ __forceinline__ void wait_for_turn() {
    ptx::named_barrier_sync(first_group_turn + group, Shared::groups * group_threads);
  }
  __device__ __forceinline__ void pass_turn() {
    ptx::named_barrier_arrive(first_group_turn + 1 - group, Shared::groups * group_threads);
  }

  __device__ __forceinline__ void release(uint64_t& barrier) {
    if (arrives_) ptx::arrive(barrier);
  }
  __device__ __forceinline__ void release_keys() {
    release(shared_.keys_empty[key_pipe_.stage]);
    key_pipe_.advance();
  }
  __device__ __forceinline__ void release_values() {
    release(shared_.values_empty[value_pipe_.stage]);
    value_pipe_.advance();
  }

  // Whether the next tile is there already: asked early, so that the answer has come when it is needed.
  __device__ __forceinline__ bool keys_here() { return ptx::try_wait(shared_.keys_full[key_pipe_.stage], key_pipe_.parity); }
  __device__ __forceinline__ bool values_here() {
    return ptx::try_wait(shared_.values_full[value_pipe_.stage], value_pipe_.parity);
  }
  __device__ __forceinline__ void wait_keys() { ptx::wait(shared_.keys_full[key_pipe_.stage], key_pipe_.parity); }
  __device__ __forceinline__ void wait_values() { ptx::wait(shared_.values_full[value_pipe_.stage], value_pipe_.parity); }
  __device__ __forceinline__ void wait_next(bool here) {
    if (here) [[likely]]
      return;
    wait_keys();
    wait_values();
  }

  // s = q x k for the first `keys` keys of the tile, one chain over head_dim from +0.
  template <int keys>
  __device__ __forceinline__ void start_scores(float (&s)[keys / 2]) {
    uint32_t const q = ptx::matrix_start(shared_.queries + group * group_rows * 64, 0);
    uint32_t const k = ptx::advance(ptx::matrix_start(shared_.keys[0], 0), key_pipe_.stage * tile_bytes);
#pragma unroll
    for (int column = 0; column < head_dim; column += 16) {
      uint32_t const within = column % 64 * sizeof(Bf16);
      uint32_t const block = column / 64;
      ptx::multiply_shared(s, ptx::advance(q, block * block_rows * 128 + within),
                           ptx::advance(k, block * tile_keys * 128 + within), column != 0);
    }
    ptx::wgmma_commit();
  }

  // o = (accumulate ? o : 0) + w x v for the first `keys` keys of the tile, one chain. The steps left out would add +0.
  template <int keys>
  __device__ __forceinline__ void start_output(float (&o)[head_dim / 2], uint32_t const (&w)[keys / 4], bool accumulate) {
    uint32_t const v = ptx::advance(ptx::matrix_start(shared_.values[0], tile_keys * 128), value_pipe_.stage * tile_bytes);
#pragma unroll
    for (int step = 0; step < keys / 16; ++step) {
      ptx::multiply_registers(o, &w[4 * step], ptx::advance(v, step * 16 * 128), step != 0 || accumulate);
    }
    ptx::wgmma_commit();
  }

  template <int keys>
  __device__ __forceinline__ void mask_last(float (&s)[keys / 2]) {
    mask_scores<keys>(s, group * group_rows, first_row());
  }

  __device__ __forceinline__ void finish_part(float (&o)[head_dim / 2], RowState const& part, RowState& total,
                                              bool first_part) {
    fold_part<head_dim, true>(o, part, total, shared_.total[group], first_part, parameters_.scale_log2);
  }

  // The last product of an item and its last fold.
  template <int keys>
  __device__ __forceinline__ void finish_output(float (&o)[head_dim / 2], uint32_t const (&w)[keys / 4], bool accumulate) {
    wait_values();
    ptx::pin(o);
    ptx::wgmma_fence();
    start_output<keys>(o, w, accumulate);
    ptx::wgmma_wait<0>();
    ptx::pin(o);
    release_values();
  }

  __device__ __forceinline__ void compute_single_tile(float (&o)[head_dim / 2], RowState& total) {
    float s[last_keys / 2];
    uint32_t w[last_keys / 4];
    float alpha[2];
    RowState part;
    part.restart();
    wait_keys();
    ptx::wgmma_fence();
    start_scores<last_keys>(s);
    ptx::wgmma_wait<0>();
    ptx::pin(s);
    release_keys();
    release(shared_.queries_empty);
    mask_last<last_keys>(s);
    weigh<last_keys>(s, part, alpha, parameters_.scale_log2);
    pack<last_keys>(w, s);
    finish_output<last_keys>(o, w, false);
    finish_part(o, part, total, true);
  }

  __device__ __forceinline__ void compute_tiles(float (&o)[head_dim / 2], RowState& total, int tiles) {
    float const scale = parameters_.scale_log2;
    uint32_t w[tile_keys / 4];
    float alpha[2];
    RowState part;
    part.restart();
    RowState finished;
    {
      float s[tile_keys / 2];
      wait_keys();
      ptx::wgmma_fence();
      start_scores<tile_keys>(s);
      ptx::wgmma_wait<0>();
      ptx::pin(s);
      release_keys();
      weigh<tile_keys>(s, part, alpha, scale);
      pack<tile_keys>(w, s);
    }
    bool keys_ready = keys_here();
    bool values_ready = values_here();
    bool fresh_output = true;
#pragma unroll 1
    for (int tile = 1; tile < tiles - 1; ++tile) {
      bool const first_of_part = tile % tiles_per_part == 0;
      float s[tile_keys / 2];
      wait_next(keys_ready && values_ready);
      wait_for_turn();
      ptx::pin(o);
      ptx::wgmma_fence();
      start_scores<tile_keys>(s);
      start_output<tile_keys>(o, w, !fresh_output);
      pass_turn();
      ptx::wgmma_wait<1>();
      ptx::pin(s);
      release_keys();
      keys_ready = keys_here();
      float shift[2];
      advance_max<tile_keys>(s, part, alpha, shift, scale);
      ptx::wgmma_wait<0>();
      ptx::pin(o);
      release_values();
      values_ready = values_here();
      if (first_of_part) [[unlikely]] {
        fold_part<head_dim, false>(o, finished, total, shared_.total[group], tile == tiles_per_part, scale);
      }
      weigh_scores<tile_keys>(s, part, alpha, shift, scale);
      rescale_rows(o, alpha); // the start of a part multiplies by zero and the next product ignores the result
      pack<tile_keys>(w, s);
      fresh_output = first_of_part;
      if ((tile + 1) % tiles_per_part == 0) [[unlikely]] {
        finished = part;
        part.restart();
      }
    }

    int const tile = tiles - 1;
    bool const first_of_part = tile % tiles_per_part == 0;
    float s[last_keys / 2];
    uint32_t last_w[last_keys / 4];
    wait_next(keys_ready && values_ready);
    wait_for_turn();
    ptx::pin(o);
    ptx::wgmma_fence();
    start_scores<last_keys>(s);
    start_output<tile_keys>(o, w, !fresh_output);
    pass_turn();
    ptx::wgmma_wait<1>();
    ptx::pin(s);
    release_keys();
    release(shared_.queries_empty);
    mask_last<last_keys>(s);
    weigh<last_keys>(s, part, alpha, scale);
    ptx::wgmma_wait<0>();
    ptx::pin(o);
    release_values();
    if (first_of_part) {
      fold_part<head_dim, false>(o, finished, total, shared_.total[group], tile == tiles_per_part, scale);
    }
    rescale_rows(o, alpha);
    pack<last_keys>(last_w, s);
    finish_output<last_keys>(o, last_w, !first_of_part);
    finish_part(o, part, total, tiles <= tiles_per_part);
  }

  Shared& shared_;
  FullParameters const& parameters_;
  bool const arrives_;
  Pipe<Shared::stages> key_pipe_;
  Pipe<Shared::stages> value_pipe_;
};

} // namespace tik::attention::sm90
