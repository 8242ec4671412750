// Few tokens against a long weight: a block of threads takes a strip of weight rows and up to 64 tokens, and walks all of k,
// one chain an output. What counts is the bandwidth of the weight: a deep ring of loads is under way, and strips are so narrow
// that every multiprocessor has one or two.
//
// A load takes several chunks of 64 columns at once, and two lanes take turns with the loads of each operand: what a lane
// executes for one load takes as long as a dozen steps of the chain, and bounded the kernel when one lane did all of them.
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
inline constexpr int largest_ring = 48;
inline constexpr int consumer_threads = 128;
inline constexpr int loaders = 2; // warps for each operand, of which one lane loads
inline constexpr int strip_threads = consumer_threads + 2 * 32 * loaders;
// The next kernel may start when so many stages are left to load: its blocks take their places while these arrive.
inline constexpr int stages_before_next = 8;
// Of shared memory that the last stage's tile may touch behind its own.
inline constexpr int overread_bytes = strip_tile_tokens * chunk_row_bytes;

struct StripParams {
  tik_bf16 const* bias; // or NULL
  void* out;
  int64_t out_stride;
  int tokens;
  int out_features;
  int stages;      // of the whole of k
  int ring;        // stages that are in shared memory at once
  int tile_tokens; // tokens of a block: 8 to 64, a multiple of 8
  int strip_rows;  // weight rows of a block, at most the kernel's width
  int laid_rows;   // of shared memory that a chunk of the strip takes
  bool boxed;      // a load takes all chunks of a stage
  bool fp32_out;
  bool weight_settled;
};

struct StripBarriers {
  uint64_t full[largest_ring];
  uint64_t empty[largest_ring];
};

// Copies the box at (column, row, chunk) to shared memory and counts its bytes on the barrier.
__device__ __forceinline__ void load_box(uint32_t destination, CUtensorMap const& map, uint32_t barrier, int column, int row,
                                         int chunk) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
          destination),
      "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(chunk)
      : "memory");
}

// An address in shared memory that the compiler keeps: it would find a barrier's anew for each load.
__device__ __forceinline__ uint32_t kept_address(void const* pointer) {
  uint32_t address = ptx::shared_address(pointer);
  asm volatile("" : "+r"(address));
  return address;
}

__device__ __forceinline__ uint64_t& barrier_at(uint32_t address) {
  return *static_cast<uint64_t*>(__cvta_shared_to_generic(address));
}

// One lane loads every other stage of one operand, x or the strip.
template <int Chunks>
struct StripLoader {
  CUtensorMap const& map;
  uint32_t full, empty; // addresses of the barriers of slot 0
  uint32_t destination; // in slot 0
  uint32_t slot_bytes, chunk_bytes;
  uint32_t load_bytes; // of a stage
  int row;
  int first; // stage

  template <bool boxed>
  __device__ __forceinline__ void load(int stage, int slot) const {
    uint32_t const barrier = full + slot * sizeof(uint64_t);
    uint32_t const start = destination + slot * slot_bytes;
    ptx::arrive_expect_bytes(barrier_at(barrier), load_bytes);
    if constexpr (boxed) {
      load_box(start, map, barrier, 0, row, stage * Chunks);
    } else {
#pragma unroll 1
      for (int i = 0; i < Chunks; ++i) load_box(start + i * chunk_bytes, map, barrier, (stage * Chunks + i) * 64, row, 0);
    }
  }

  template <bool boxed>
  __device__ __forceinline__ void run(int stages, int ring) const {
    int const signal_stage = (stages - stages_before_next) / loaders * loaders;
    int slot = first;
    uint32_t parity = 1;
    for (int stage = first; stage < stages; stage += loaders) {
      if (stage >= ring) {
        if (stage == signal_stage) start_kernel_after();
        ptx::wait(barrier_at(empty + slot * sizeof(uint64_t)), parity);
      }
      load<boxed>(stage, slot);
      slot += loaders;
      if (slot >= ring) slot -= ring, parity ^= 1;
    }
  }

  __device__ __forceinline__ void run(StripParams const& params) const {
    if (params.boxed) {
      run<true>(params.stages, params.ring);
    } else {
      run<false>(params.stages, params.ring);
    }
  }
};

// A warp group computes the tile.
template <int Width, int Chunks>
struct StripConsumer {
  StripParams const& params;
  StripBarriers& barriers;
  unsigned char* ring;
  float sums[Width / 2];

  __device__ __forceinline__ void run() {
#pragma unroll
    for (float& sum : sums) sum = 0;
    int slot = 0, before = 0;
    uint32_t parity = 0;
    uint32_t const bytes = stage_bytes(Chunks, params.tile_tokens, params.laid_rows);
    uint32_t const x_chunk = params.tile_tokens * chunk_row_bytes;
    uint32_t const strip_chunk = params.laid_rows * chunk_row_bytes;
    for (int stage = 0; stage < params.stages; ++stage) {
      ptx::wait(barriers.full[slot], parity);
      uint32_t const x = ptx::matrix_start(ring + slot * bytes, 0);
      uint32_t const strip = ptx::advance(x, Chunks * x_chunk);
      ptx::wgmma_fence();
#pragma unroll
      for (int chunk = 0; chunk < Chunks; ++chunk) {
#pragma unroll
        for (int step = 0; step < 4; ++step) {
          multiply_k16(sums, ptx::descriptor(ptx::advance(x, chunk * x_chunk + step * 32)),
                       ptx::descriptor(ptx::advance(strip, chunk * strip_chunk + step * 32)), true);
        }
      }
      ptx::wgmma_commit();
      ptx::wgmma_wait<1>();
      if (stage > 0 && threadIdx.x % 32 == 0) ptx::arrive(barriers.empty[before]);
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

template <int Width, int Chunks>
__global__ void __launch_bounds__(strip_threads)
    strip_kernel(__grid_constant__ CUtensorMap const x_map, __grid_constant__ CUtensorMap const weight_map,
                 __grid_constant__ StripParams const params) {
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ StripBarriers barriers;
  if (threadIdx.x == 0) {
    ptx::prefetch_map(x_map);
    ptx::prefetch_map(weight_map);
    for (int slot = 0; slot < params.ring; ++slot) {
      ptx::init_barrier(barriers.full[slot], 2); // x and the strip
      ptx::init_barrier(barriers.empty[slot], consumer_threads / 32);
    }
    ptx::fence_barrier_init();
  }
  __syncthreads();
  // The same for a warp, and known to be: otherwise every descriptor goes from registers to uniform registers one by one.
  int const warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp < consumer_threads / 32) {
    wait_for_kernel_before();
    StripConsumer<Width, Chunks>{params, barriers, ring, {}}.run();
  } else if (ptx::elect_one()) { // a lane that the compiler knows to be alone: it loops over lanes around each load otherwise
    int const loader = warp - consumer_threads / 32;
    bool const loads_strip = loader < loaders;
    uint32_t const x_chunk = params.tile_tokens * chunk_row_bytes;
    StripLoader<Chunks> lane{loads_strip ? weight_map : x_map,
                             kept_address(barriers.full),
                             kept_address(barriers.empty),
                             kept_address(ring) + (loads_strip ? Chunks * x_chunk : 0),
                             static_cast<uint32_t>(stage_bytes(Chunks, params.tile_tokens, params.laid_rows)),
                             loads_strip ? params.laid_rows * chunk_row_bytes : x_chunk,
                             Chunks * (loads_strip ? params.strip_rows * chunk_row_bytes : x_chunk),
                             static_cast<int>(loads_strip ? blockIdx.x * params.strip_rows : blockIdx.y * params.tile_tokens),
                             loader % loaders};
    if (!loads_strip || !params.weight_settled) wait_for_kernel_before();
    lane.run(params);
  }
  __syncwarp();
  if (threadIdx.x == consumer_threads) start_kernel_after();
}

} // namespace tik::operators::sm90
