// A consumer of the full-sequence kernel: a warp group that computes 64 query rows of each item, one of two that share a
// multiprocessor. For head_dim 128 and all but short sequences; full_serial.cuh serves the rest.
//
// A lane holds rows `quad` and `quad + 8` of its warp's 16 and, of each 8 columns, numbers 2 * lane_in_quad + {0, 1}: element
// 4 * block + 2 * half + i of an accumulator is column 8 * block + 2 * lane_in_quad + i of row quad + 8 * half.
//
// The scores of a tile are multiplied together with the product of the weights before it and V, also where those are of the
// item before, and the softmax of one group runs under the products of the other: they take turns at the tensor cores. Both
// groups run the same instructions, and items little code besides that of a tile: what does not stay in the instruction cache
// has to be waited for.
//
// A group's way from turn to turn is as long as the products of both, so each wait counts on it: a tile in which no reference
// can move exchanges nothing between lanes, exponentials start at once and never pause, and the last additions of a sum are
// left to the next tile.
#pragma once

#include "operators/attention/sm90/full_output.cuh"
#include "operators/attention/sm90/full_ptx.cuh"
#include "operators/attention/sm90/full_shared.cuh"
#include "operators/attention/sm90/full_softmax.cuh"
#include "operators/attention/sm90/full_work.cuh"
#include "operators/attention/sm90/numerics.cuh"

namespace tik::attention::sm90 {

enum NamedBarrier : uint32_t { first_next_item = 1, first_turn = 3 }; // + group

template <typename Shared>
class OverlappedConsumer {
 public:
  static constexpr int head_dim = Shared::head_dim;
  static constexpr int block_rows = Shared::block_rows;
  static_assert(Shared::groups == 2 && block_rows == tile_keys, "the last tile of an item is the one that the mask cuts");

  __device__ __forceinline__ OverlappedConsumer(Shared& shared, FullParameters const& parameters)
      : shared_(shared),
        parameters_(parameters),
        group_(__shfl_sync(~0u, threadIdx.x / group_threads, 0)),
        arrives_(every_lane_arrives || threadIdx.x % 32 == 0),
        reach_(Settled::reach(parameters.scale_log2)) {}

  // Takes items until none is left. The last product of an item runs together with the first scores of the next, where that
  // one's queries are there in time.
  __device__ __forceinline__ void run() {
    WorkItem item;
    if (!take_item(item)) return;
    float o[head_dim / 2];
    uint32_t w[tile_keys / 4];
    RowState part;
    Progress progress;
    start_item(item, w, part);
    if (group_ == 1) pass_turn();
    while (true) {
      int const tiles = item.block + 1;
      progress.fresh = true;
      if (tiles > 1) {
        compute_tiles(o, w, part, progress, tiles);
        compute_last_tile(o, w, part, progress, tiles);
      }
      WorkItem next;
      bool const here = item_here();
      if (here) take_item(next);
      if (here && next.sequence >= 0) {
        change_item(item, next, o, w, part, progress);
      } else {
        compute_last_output(o, w, progress);
        finish_item(o, part, progress, item);
        if (!here) take_item(next);
        if (next.sequence < 0) break;
        start_item(next, w, part);
      }
      item = next;
    }
  }

 private:
  static_assert(tiles_per_part > 1, "the first tile of an item does not end a part");
  static constexpr uint32_t tile_bytes = tile_keys * head_dim * sizeof(Bf16);

  // What an item has come to besides the weights in w: whether their product starts a part, and the parts that are folded.
  struct Progress {
    bool fresh;
    RowState total;
  };

  // A group issues the products of a tile in its turn, so that the tensor cores run all of them before those of the other
  // group. Both groups have the same items, and so as many turns; the last one that group 1 passes on is not taken.
  __device__ __forceinline__ void wait_turn() { ptx::named_barrier_sync(first_turn + group_, 2 * group_threads); }
  __device__ __forceinline__ void pass_turn() { ptx::named_barrier_arrive(first_turn + 1 - group_, 2 * group_threads); }

  // Whether the next item can be taken without waiting; one answer for the whole group.
  __device__ __forceinline__ bool item_here() {
    return ptx::named_barrier_all(first_next_item + group_, group_threads,
                                  ptx::test(shared_.queries_full[group_], query_pipe_.parity));
  }

  // Waits for the next item. False when there is none.
  __device__ __forceinline__ bool take_item(WorkItem& item) {
    ptx::wait(shared_.queries_full[group_], query_pipe_.parity);
    query_pipe_.advance();
    item = shared_.items[group_];
    __syncwarp(); // every lane has read the item before one of them gives the queries back
    return item.sequence >= 0;
  }

  // Within the block; the lane's other row is 8 further on.
  __device__ __forceinline__ int first_row() const {
    return group_ * group_rows + threadIdx.x % group_threads / 32 * 16 + threadIdx.x % 32 / 4;
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

  // Whether the next tile is there already: asked early, so that the answer has come when it is needed. `zero` is 0.
  __device__ __forceinline__ bool keys_here(uint32_t zero = 0) {
    return ptx::try_wait(shared_.keys_full[key_pipe_.stage], key_pipe_.parity ^ zero);
  }
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

  // s = q x k, one chain over head_dim from +0.
  __device__ __forceinline__ void start_scores(float (&s)[tile_keys / 2]) {
    uint32_t const q = ptx::matrix_start(shared_.queries + group_ * group_rows * 64, 0);
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

  // o = (accumulate ? o : 0) + w x v, one chain. Of `half` a tile, the first 64 keys, the steps left out would add +0.
  __device__ __forceinline__ void start_output(float (&o)[head_dim / 2], uint32_t const (&w)[tile_keys / 4], bool accumulate,
                                               bool half = false) {
    uint32_t const v = ptx::advance(ptx::matrix_start(shared_.values[0], tile_keys * 128), value_pipe_.stage * tile_bytes);
#pragma unroll
    for (int step = 0; step < tile_keys / 32; ++step) {
      ptx::multiply_registers(o, &w[4 * step], ptx::advance(v, step * 16 * 128), step != 0 || accumulate);
    }
    if (!half) {
#pragma unroll
      for (int step = tile_keys / 32; step < tile_keys / 16; ++step) {
        ptx::multiply_registers(o, &w[4 * step], ptx::advance(v, step * 16 * 128), true);
      }
    }
    ptx::wgmma_commit();
  }

  // Whether rows of this group see only the first half of the last tile of an item, the one that the mask cuts.
  __device__ __forceinline__ bool half_ends() const { return group_ == 0; }

  // The output of an item is complete.
  __device__ __forceinline__ void finish_item(float (&o)[head_dim / 2], RowState const& part, Progress& progress,
                                              WorkItem const& item) {
    bool const one_part = item.block < tiles_per_part;
    fold_part<head_dim, true>(o, part, progress.total, shared_.total[group_], one_part, parameters_.scale_log2);
    write_rows<head_dim>(o, progress.total, item, parameters_, item.block * block_rows + first_row());
  }

  // The last product of an item.
  __device__ __forceinline__ void compute_last_output(float (&o)[head_dim / 2], uint32_t const (&w)[tile_keys / 4],
                                                      Progress& progress) {
    wait_values();
    ptx::pin(o);
    ptx::wgmma_fence();
    start_output(o, w, !progress.fresh, half_ends());
    output_done(o);
    release_values();
  }

  // The first scores of an item are there. Rows of the first block see no more than its one tile, which is the last, too.
  __device__ __forceinline__ void first_scores_done(WorkItem const& item, float (&s)[tile_keys / 2]) {
    if (item.block == 0) {
      release(shared_.queries_empty[group_]);
      mask_scores<tile_keys>(s, 0, first_row());
    }
  }

  // The first tile of an item that follows none.
  __device__ __forceinline__ void start_item(WorkItem const& item, uint32_t (&w)[tile_keys / 4], RowState& part) {
    float s[tile_keys / 2];
    float alpha[2];
    wait_keys();
    ptx::wgmma_fence();
    start_scores(s);
    ptx::wgmma_wait<0>();
    ptx::pin(s);
    release_keys();
    first_scores_done(item, s);
    part.restart();
    weigh<tile_keys>(s, part, alpha, parameters_.scale_log2, parameters_.zero);
    settled_.follow(part, parameters_.scale_log2, reach_);
    pack<tile_keys>(w, s);
  }

  // The first tile of the next item and the last product of this one, which is then finished.
  __device__ __forceinline__ void change_item(WorkItem const& item, WorkItem const& next, float (&o)[head_dim / 2],
                                              uint32_t (&w)[tile_keys / 4], RowState& part, Progress& progress) {
    float s[tile_keys / 2];
    float alpha[2];
    wait_next(false);
    start_products<false>(s, o, w, !progress.fresh, half_ends());
    scores_done(s);
    first_scores_done(next, s);
    RowState const finished = part;
    part.restart();
    weigh<tile_keys>(s, part, alpha, parameters_.scale_log2, parameters_.zero);
    settled_.follow(part, parameters_.scale_log2, reach_);
    output_done(o);
    release_values();
    pack<tile_keys>(w, s);
    finish_item(o, finished, progress, item);
  }

  // Scores of the next tile, together with the output of the tile before: scores_done() and output_done() wait for them.
  template <bool in_turn>
  __device__ __forceinline__ void start_products(float (&s)[tile_keys / 2], float (&o)[head_dim / 2],
                                                 uint32_t const (&w)[tile_keys / 4], bool accumulate, bool half = false) {
    if (in_turn) wait_turn();
    ptx::pin(o);
    ptx::wgmma_fence();
    start_scores(s);
    start_output(o, w, accumulate, half);
    if (in_turn) pass_turn();
  }
  __device__ __forceinline__ void scores_done(float (&s)[tile_keys / 2]) {
    ptx::wgmma_wait<1>();
    ptx::pin(s);
    release_keys();
  }
  __device__ __forceinline__ void output_done(float (&o)[head_dim / 2]) {
    ptx::wgmma_wait<0>();
    ptx::pin(o);
  }

  // All tiles of an item but the first and the last. As everywhere, the weights of the tile that was computed are left in w.
  __device__ __forceinline__ void compute_tiles(float (&o)[head_dim / 2], uint32_t (&w)[tile_keys / 4], RowState& part,
                                                Progress& progress, int tiles) {
    float const scale = parameters_.scale_log2;
    // The compiler does not see that all lanes agree on these. Told so, it keeps stages and descriptors in uniform registers.
    key_pipe_.make_uniform();
    value_pipe_.make_uniform();
    tiles = __shfl_sync(~0u, tiles, 0);
    bool keys_ready = keys_here();
    bool values_ready = values_here();
    int tile = 1;
    while (true) {
      int const end = min((tile / tiles_per_part + 1) * tiles_per_part, tiles - 1);
      TileSum sum; // of the tile before, and what it is added to is multiplied with
      float alpha[2] = {1, 1};
#pragma unroll 1
      for (; tile < end; ++tile) {
        float s[tile_keys / 2];
        wait_next(keys_ready && values_ready);
        start_products<true>(s, o, w, !progress.fresh);
        sum.add_to(part, alpha);
        ptx::pin(part.l); // here, while the scores are multiplied
        scores_done(s);
        alpha[0] = alpha[1] = 1;
        if (!stays(s, settled_.limit)) [[unlikely]] {
          float shift[2];
          advance_max<tile_keys>(s, part, alpha, shift, scale);
          output_done(o);
          rescale_rows(o, alpha);
          settled_.follow(part, scale, reach_);
        }
        // Some weights before the wait for the product with V: asking for the next keys waits for them, else the compiler would
        // move them behind it.
        float sums[2][tile_keys / 16];
        weigh_groups<0, 1, tile_keys>(s, sums, settled_.shift, scale, parameters_.zero);
        keys_ready = keys_here((__float_as_uint(sums[0][0]) | __float_as_uint(sums[1][0])) & parameters_.zero);
        output_done(o);
        release_values();
        values_ready = values_here();
        weigh_groups<1, tile_keys / 16, tile_keys>(s, sums, settled_.shift, scale, parameters_.zero);
        sum = TileSum(s, sums);
        pack<tile_keys>(w, s);
        progress.fresh = false;
      }
      sum.add_to(part, alpha);
      if (tile >= tiles - 1) break;
      // The first tile of another part.
      float s[tile_keys / 2];
      wait_next(keys_ready && values_ready);
      start_products<true>(s, o, w, true);
      scores_done(s);
      keys_ready = keys_here();
      FoldFactors factors[2];
      fold_state(part, progress.total, factors, tile == tiles_per_part, scale);
      part.restart();
      float shift[2];
      advance_max<tile_keys>(s, part, alpha, shift, scale);
      settled_.follow(part, scale, reach_);
      output_done(o);
      release_values();
      values_ready = values_here();
      weigh_scores<tile_keys>(s, part, alpha, shift, scale, parameters_.zero);
      pack<tile_keys>(w, s);
      fold_output<head_dim, false>(o, factors, shared_.total[group_], tile == tiles_per_part);
      progress.fresh = true;
      ++tile;
    }
  }

  // The last tile of an item, unless it is the first, too.
  __device__ __forceinline__ void compute_last_tile(float (&o)[head_dim / 2], uint32_t (&w)[tile_keys / 4], RowState& part,
                                                    Progress& progress, int tiles) {
    float const scale = parameters_.scale_log2;
    int const tile = tiles - 1;
    bool const first_of_part = tile % tiles_per_part == 0;
    float s[tile_keys / 2];
    wait_next(false);
    start_products<true>(s, o, w, !progress.fresh);
    scores_done(s);
    release(shared_.queries_empty[group_]);
    mask_scores<tile_keys>(s, 0, first_row());
    FoldFactors factors[2];
    if (first_of_part) {
      fold_state(part, progress.total, factors, tile == tiles_per_part, scale);
      part.restart();
    }
    float alpha[2];
    weigh<tile_keys>(s, part, alpha, scale, parameters_.zero);
    output_done(o);
    release_values();
    pack<tile_keys>(w, s);
    if (first_of_part) {
      fold_output<head_dim, false>(o, factors, shared_.total[group_], tile == tiles_per_part);
    } else if (moves(alpha)) {
      rescale_rows(o, alpha); // left out where all rows have 1: such a product is exact
    }
    progress.fresh = first_of_part;
  }

  Shared& shared_;
  FullParameters const& parameters_;
  int const group_;
  bool const arrives_;
  float const reach_;
  Settled settled_; // of the part in w
  Pipe<Shared::stages> key_pipe_;
  Pipe<Shared::stages> value_pipe_;
  Pipe<1> query_pipe_;
};

} // namespace tik::attention::sm90
