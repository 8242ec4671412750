// Few tokens against a long weight: a block of threads takes a strip of weight rows and up to 64 tokens, and walks all of k,
// one chain an output. What counts is the bandwidth of the weight: a warp keeps a deep ring of loads under way, and strips are
// so narrow that every multiprocessor has one or two. The x that many strips need, and the strip that several blocks of tokens
// need, come once a cluster.
//
// Tokens are the rows of the wgmma tile, always 64 of them: where a call has fewer, the rest of the tile reads whatever shared
// memory holds behind, because a row of the product depends on no other row, and is not stored.
#pragma once

#include "operators/arithmetic.h"
#include "operators/attention/sm90/full_ptx.cuh"
#include "operators/linear/sm90/kernels.h"
#include "operators/linear/sm90/wgmma.cuh"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {

namespace ptx = attention::sm90::ptx;

inline constexpr int strip_tile_tokens = 64;
inline constexpr int largest_ring = 32;
inline constexpr int consumer_threads = 128;
inline constexpr int strip_threads = consumer_threads + 32;
// Of shared memory that the last stage's tile may touch behind its own.
inline constexpr int overread_bytes = strip_tile_tokens * chunk_row_bytes;

struct StripParams {
  tik_bf16 const* bias; // or NULL
  void* out;
  int64_t out_stride;
  int tokens;
  int out_features;
  int stages;        // of the whole of k
  int ring;          // stages that are in shared memory at once
  int tile_tokens;   // tokens of a block: 8 to 64, a multiple of 8
  int strip_rows;    // weight rows of a block, at most the kernel's width
  int x_sharers;     // blocks of a cluster with the same tokens, along grid x
  int strip_sharers; // blocks of a cluster with the same strip, along grid y
  bool fp32_out;
  bool weight_settled;
};

struct StripBarriers {
  uint64_t full[largest_ring];
  uint64_t empty[largest_ring];
};

// Copies the box at (column, row) to the same place of every block in `blocks` and counts its bytes on each one's barrier.
__device__ __forceinline__ void load_box(uint32_t destination, CUtensorMap const& map, uint32_t barrier, int column, int row,
                                         uint32_t blocks, bool several) {
  if (several) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, "
        "%4}], [%2], %5;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "h"(static_cast<uint16_t>(blocks))
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
            destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row)
        : "memory");
  }
}

// Arrives at the barrier of a block of the cluster. Not with release.cluster: that becomes a fence of the whole device, 700 ns
// long. What is ordered here are reads by the tensor core, which have ended, before writes by the copy engine.
__device__ __forceinline__ void arrive_at_block(uint64_t& barrier, uint32_t block) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::
          "r"(ptx::shared_address(&barrier)),
      "r"(block)
      : "memory");
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The place of a block in its cluster, and whom it sends to. Blocks with the same tokens follow each other.
struct ClusterPlace {
  int x_rank, strip_rank;
  int x_sharers, strip_sharers;

  __device__ __forceinline__ explicit ClusterPlace(StripParams const& params)
      : x_rank(blockIdx.x % params.x_sharers),
        strip_rank(blockIdx.y % params.strip_sharers),
        x_sharers(params.x_sharers),
        strip_sharers(params.strip_sharers) {}
  __device__ __forceinline__ uint32_t with_my_tokens() const { return ((1u << x_sharers) - 1) << (strip_rank * x_sharers); }
  __device__ __forceinline__ uint32_t with_my_strip() const {
    uint32_t blocks = 0;
    for (int i = 0; i < strip_sharers; ++i) blocks |= 1u << (i * x_sharers + x_rank);
    return blocks;
  }
  // Those whose loads fill this block's ring, itself among them.
  __device__ __forceinline__ int senders() const { return x_sharers + strip_sharers - 1; }
  __device__ __forceinline__ uint32_t sender(int i) const {
    if (i < x_sharers) return strip_rank * x_sharers + i;
    int const other = i - x_sharers;
    return (other + (other >= strip_rank)) * x_sharers + x_rank;
  }
};

// One lane fills the rings: its own share of x and of the strip, to every block that needs it.
struct StripProducer {
  CUtensorMap const& x_map;
  CUtensorMap const& weight_map;
  StripParams const& params;
  StripBarriers& barriers;
  uint32_t ring_start;
  ClusterPlace place;

  __device__ __forceinline__ void load_x(int stage, int slot) const {
    int const share = params.tile_tokens / place.x_sharers;
    int const row = place.x_rank * share;
    for (int chunk = 0; chunk < stage_chunks; ++chunk) {
      uint32_t const at = slot_start(slot) + (chunk * params.tile_tokens + row) * chunk_row_bytes;
      load_box(at, x_map, ptx::shared_address(&barriers.full[slot]), (stage * stage_chunks + chunk) * 64,
               blockIdx.y * params.tile_tokens + row, place.with_my_tokens(), place.x_sharers > 1);
    }
  }
  __device__ __forceinline__ void load_strip(int stage, int slot) const {
    int const share = params.strip_rows / place.strip_sharers;
    int const row = place.strip_rank * share;
    for (int chunk = 0; chunk < stage_chunks; ++chunk) {
      int const rows_before = stage_chunks * params.tile_tokens + chunk * laid_rows(params.strip_rows) + row;
      load_box(slot_start(slot) + rows_before * chunk_row_bytes, weight_map, ptx::shared_address(&barriers.full[slot]),
               (stage * stage_chunks + chunk) * 64, blockIdx.x * params.strip_rows + row, place.with_my_strip(),
               place.strip_sharers > 1);
    }
  }
  __device__ __forceinline__ uint32_t slot_start(int slot) const {
    return ring_start + slot * stage_bytes(params.tile_tokens, params.strip_rows);
  }

  __device__ __forceinline__ void run() const {
    int const first = min(params.ring, params.stages); // stages for which the ring is empty at the start
    uint32_t const bytes = stage_chunks * chunk_row_bytes * (params.tile_tokens + params.strip_rows); // that arrive
    if (!params.weight_settled) wait_for_kernel_before();
    for (int stage = 0; stage < first; ++stage) {
      ptx::arrive_expect_bytes(barriers.full[stage], bytes);
      load_strip(stage, stage);
    }
    if (params.weight_settled) wait_for_kernel_before();
    for (int stage = 0; stage < first; ++stage) load_x(stage, stage);
    int slot = 0;
    uint32_t parity = 0;
    for (int stage = first; stage < params.stages; ++stage) {
      ptx::wait(barriers.empty[slot], parity);
      ptx::arrive_expect_bytes(barriers.full[slot], bytes);
      load_strip(stage, slot);
      load_x(stage, slot);
      if (++slot == params.ring) slot = 0, parity ^= 1;
    }
    start_kernel_after();
  }
};

// A warp group computes the tile.
template <int Width>
struct StripConsumer {
  StripParams const& params;
  StripBarriers& barriers;
  unsigned char* ring;
  ClusterPlace place;
  float sums[Width / 2];

  __device__ __forceinline__ void release(int slot) {
    int const lane = threadIdx.x % 32;
    if (lane < place.senders()) arrive_at_block(barriers.empty[slot], place.sender(lane));
  }

  __device__ __forceinline__ void run() {
#pragma unroll
    for (float& sum : sums) sum = 0;
    int slot = 0, before = 0;
    uint32_t parity = 0;
    uint32_t const bytes = stage_bytes(params.tile_tokens, params.strip_rows);
    uint32_t const strip_chunk = laid_rows(params.strip_rows) * chunk_row_bytes;
    for (int stage = 0; stage < params.stages; ++stage) {
      ptx::wait(barriers.full[slot], parity);
      uint32_t const x = ptx::matrix_start(ring + slot * bytes, 0);
      uint32_t const strip = ptx::advance(x, stage_chunks * params.tile_tokens * chunk_row_bytes);
      ptx::wgmma_fence();
#pragma unroll
      for (int chunk = 0; chunk < stage_chunks; ++chunk) {
#pragma unroll
        for (int step = 0; step < 4; ++step) {
          multiply_k16(sums, ptx::descriptor(ptx::advance(x, chunk * params.tile_tokens * chunk_row_bytes + step * 32)),
                       ptx::descriptor(ptx::advance(strip, chunk * strip_chunk + step * 32)), true);
        }
      }
      ptx::wgmma_commit();
      ptx::wgmma_wait<1>();
      if (stage > 0) release(before);
      before = slot;
      if (++slot == params.ring) slot = 0, parity ^= 1;
    }
    ptx::wgmma_wait<0>();
    ptx::pin(sums);
    store();
  }

  // Lane l of warp w has rows 16 w + l / 4 and 8 further, columns l % 4 * 2 and the next of every eight.
  __device__ __forceinline__ void store() const {
    int const lane = threadIdx.x % 32;
    int const column = blockIdx.x * params.strip_rows + lane % 4 * 2;
    int const end = min((static_cast<int>(blockIdx.x) + 1) * params.strip_rows, params.out_features);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int const row = threadIdx.x / 32 * 16 + lane / 4 + half * 8;
      int const token = blockIdx.y * params.tile_tokens + row;
      if (row >= params.tile_tokens || token >= params.tokens) continue;
#pragma unroll
      for (int group = 0; group < Width / 8; ++group) {
        int const at = column + group * 8;
        if (at >= end) continue;
        store_pair(params, token, at, sums[group * 4 + half * 2], sums[group * 4 + half * 2 + 1]);
      }
    }
  }

  static __device__ __forceinline__ void store_pair(StripParams const& params, int token, int column, float a, float b) {
    if (params.bias) {
      uint32_t const bias = *reinterpret_cast<uint32_t const*>(params.bias + column);
      a = add(a, low_to_float(bias));
      b = add(b, high_to_float(bias));
    }
    int64_t const at = token * params.out_stride + column;
    if (params.fp32_out) {
      *reinterpret_cast<float2*>(static_cast<float*>(params.out) + at) = {a, b};
    } else {
      *reinterpret_cast<uint32_t*>(static_cast<tik_bf16*>(params.out) + at) = to_bf16_pair(a, b);
    }
  }
};

template <int Width>
__global__ void __launch_bounds__(strip_threads)
    strip_kernel(__grid_constant__ CUtensorMap const x_map, __grid_constant__ CUtensorMap const weight_map,
                 __grid_constant__ StripParams const params) {
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ StripBarriers barriers;
  ClusterPlace const place(params);
  bool const alone = place.senders() == 1;
  if (threadIdx.x == 0) {
    ptx::prefetch_map(x_map);
    ptx::prefetch_map(weight_map);
    for (int slot = 0; slot < params.ring; ++slot) {
      ptx::init_barrier(barriers.full[slot], 1);
      ptx::init_barrier(barriers.empty[slot], consumer_threads / 32 * place.senders());
    }
    ptx::fence_barrier_init();
  }
  if (alone) {
    __syncthreads();
  } else {
    cluster_sync();
  }
  // The same for a warp, and known to be: otherwise every descriptor goes from registers to uniform registers one by one.
  int const warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp == consumer_threads / 32) {
    if (threadIdx.x == consumer_threads) {
      StripProducer{x_map, weight_map, params, barriers, ptx::shared_address(ring), place}.run();
    }
    __syncwarp();
  } else {
    wait_for_kernel_before();
    StripConsumer<Width>{params, barriers, ring, place, {}}.run();
  }
  if (!alone) cluster_sync(); // until then others may send here
}

} // namespace tik::operators::sm90
