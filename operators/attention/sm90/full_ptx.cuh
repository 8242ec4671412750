// The Hopper instructions that the full-sequence kernel is made of, one wrapper each: barriers in shared memory, bulk tensor
// copies (TMA), warp-group matrix products (wgmma), register hand-over between warp groups.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace tik::attention::sm90::ptx {

__device__ __forceinline__ uint32_t shared_address(void const* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// One lane of a converged warp.
__device__ __forceinline__ bool elect_one() {
  uint32_t elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected != 0;
}

// --- mbarrier: a phase completes when all arrivals and all announced bytes are in ---

__device__ __forceinline__ void init_barrier(uint64_t& barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the copy engine.
__device__ __forceinline__ void fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ __forceinline__ void arrive(uint64_t& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

__device__ __forceinline__ void arrive_expect_bytes(uint64_t& barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ bool try_wait(uint64_t& barrier, uint32_t parity) {
  uint32_t done;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(done)
               : "r"(shared_address(&barrier)), "r"(parity)
               : "memory");
  return done != 0;
}

// Whether the phase of this parity is complete, without waiting.
__device__ __forceinline__ bool test(uint64_t& barrier, uint32_t parity) {
  uint32_t done;
  asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(done)
               : "r"(shared_address(&barrier)), "r"(parity)
               : "memory");
  return done != 0;
}

// Waits until the phase of this parity is complete. TIK_TRAP_AFTER_WAITS turns a deadlock into an error in debugging builds.
__device__ __forceinline__ void wait(uint64_t& barrier, uint32_t parity) {
#ifdef TIK_TRAP_AFTER_WAITS
  for (uint32_t waits = 0; !try_wait(barrier, parity); ++waits) {
    if (waits > TIK_TRAP_AFTER_WAITS) asm volatile("trap;");
  }
#else
  while (!try_wait(barrier, parity)) {
  }
#endif
}

// --- named barriers ---

__device__ __forceinline__ void named_barrier_sync(uint32_t id, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_barrier_arrive(uint32_t id, uint32_t threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Whether `value` is true for all threads of the barrier.
__device__ __forceinline__ bool named_barrier_all(uint32_t id, uint32_t threads, bool value) {
  uint32_t all;
  asm volatile("{\n.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\nbarrier.cta.red.and.pred q, %2, %3, p;\nselp.u32 %0, 1, 0, q;\n}"
               : "=r"(all)
               : "r"(static_cast<uint32_t>(value)), "r"(id), "r"(threads)
               : "memory");
  return all != 0;
}

// --- registers, launches, proxies ---

template <uint32_t count>
__device__ __forceinline__ void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

template <uint32_t count>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// Returns when every kernel this launch may overlap with has finished and its writes are visible.
__device__ __forceinline__ void wait_for_previous_launch() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Lets the next launch of the stream start its blocks where room is.
__device__ __forceinline__ void allow_next_launch() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// Orders ordinary writes to shared memory before the accesses of tensor cores and the copy engine.
__device__ __forceinline__ void fence_shared_for_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// --- TMA ---

__device__ __forceinline__ void prefetch_map(CUtensorMap const& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Copies the box at (column, row, head, outer) to shared memory; its bytes count towards `barrier`.
__device__ __forceinline__ void load_box(void* destination, CUtensorMap const& map, uint64_t& barrier, int column, int row,
                                         int head, int outer) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::
          "r"(shared_address(destination)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(column), "r"(row), "r"(head), "r"(outer)
      : "memory");
}

// --- wgmma ---

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most `pending` groups are in flight.
template <int pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Keeps the compiler from moving uses of accumulators across a fence or a wait.
template <int count>
__device__ __forceinline__ void pin(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

// A matrix in shared memory in 128-byte rows, swizzled by 128 bytes: 8 rows are 1024 bytes. column_stride is the distance of
// two blocks of 64 columns, used only where columns are not the contracted dimension. This is the half of the descriptor that
// says where the matrix starts; the other half is the same for all.
__device__ __forceinline__ uint32_t matrix_start(void const* start, uint32_t column_stride) {
  return (shared_address(start) & 0x3ffff) >> 4 | column_stride >> 4 << 16;
}

// The same matrix `bytes` further on.
__device__ __forceinline__ uint32_t advance(uint32_t matrix, uint32_t bytes) { return matrix + (bytes >> 4); }

__device__ __forceinline__ uint64_t descriptor(uint32_t matrix) {
  uint64_t const eight_rows = 1024 >> 4;
  uint64_t const swizzle_128 = 1;
  return matrix | eight_rows << 32 | swizzle_128 << 62;
}

#define TIK_D8(d, i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define TIK_D32(d, i) TIK_D8(d, i), TIK_D8(d, i + 8), TIK_D8(d, i + 16), TIK_D8(d, i + 24)
#define TIK_NAMES32                                                                                                     \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, " \
  "%25, %26, %27, %28, %29, %30, %31"
#define TIK_NAMES64                                                                                                       \
  TIK_NAMES32                                                                                                             \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, " \
  "%55, %56, %57, %58, %59, %60, %61, %62, %63"

// d [64, n] = (accumulate ? d : 0) + a [64, 16] x b [16, n]; a and b in shared memory, both with k contiguous.
__device__ __forceinline__ void multiply_shared(float (&d)[64], uint32_t a, uint32_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" TIK_NAMES64 "}, %64, %65, p, 1, 1, 0, 0;\n}"
      : TIK_D32(d, 0), TIK_D32(d, 32)
      : "l"(descriptor(a)), "l"(descriptor(b)), "r"(static_cast<int>(accumulate)));
}

__device__ __forceinline__ void multiply_shared(float (&d)[32], uint32_t a, uint32_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" TIK_NAMES32 "}, %32, %33, p, 1, 1, 0, 0;\n}"
      : TIK_D32(d, 0)
      : "l"(descriptor(a)), "l"(descriptor(b)), "r"(static_cast<int>(accumulate)));
}

// The same with a in registers and b with n contiguous.
__device__ __forceinline__ void multiply_registers(float (&d)[64], uint32_t const* a, uint32_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" TIK_NAMES64 "}, {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}"
      : TIK_D32(d, 0), TIK_D32(d, 32)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor(b)), "r"(static_cast<int>(accumulate)));
}

__device__ __forceinline__ void multiply_registers(float (&d)[32], uint32_t const* a, uint32_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" TIK_NAMES32 "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}"
      : TIK_D32(d, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor(b)), "r"(static_cast<int>(accumulate)));
}

#undef TIK_D8
#undef TIK_D32
#undef TIK_NAMES32
#undef TIK_NAMES64

} // namespace tik::attention::sm90::ptx
