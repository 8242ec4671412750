// The instructions of the decode kernel that CUDA C++ has no word for.
#pragma once

#include <cstdint>

#include "operators/attention/sm90/racecheck.cuh"

namespace tik::attention::sm90 {

__device__ __forceinline__ uint32_t shared_address(void const* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Copies 16 bytes from device to shared memory, or writes 16 zero bytes without reading when valid is false.
__device__ __forceinline__ void copy_async_16(uint32_t shared, void const* global, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(valid ? 16 : 0)
               : "memory");
}
// The copies that this thread has started since the last commit become a group; waits until all but the last `Groups` groups
// are in shared memory.
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Groups>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}
// Arrives on a barrier of the block once all copies that this thread has started before are in shared memory.
__device__ __forceinline__ void copy_async_arrive(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

// Loads that are issued where they are written: the compiler would sink an ordinary load to its first use.
__device__ __forceinline__ int32_t load_now(int32_t const* pointer) {
  int32_t value;
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(value) : "l"(pointer));
  return value;
}
__device__ __forceinline__ uint32_t load_now(void const* pointer) {
  uint32_t value;
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(value) : "l"(pointer));
  return value;
}

// Computes a value where it is written, while an earlier load is under way, not at its first use.
__device__ __forceinline__ void compute_now(uint32_t& value) { asm volatile("" : "+r"(value)); }
template <class Value>
__device__ __forceinline__ void compute_now(Value*& value) {
  asm volatile("" : "+l"(value));
}

__device__ __forceinline__ uint2 load_shared_pair(uint32_t shared) {
  uint2 value;
  asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"(value.x), "=r"(value.y) : "r"(shared));
  return value;
}

__device__ __forceinline__ uint4 load_shared_four(uint32_t shared) {
  uint4 value;
  asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(shared));
  return value;
}

__device__ __forceinline__ void load_matrix_x4(uint32_t (&fragment)[4], uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(shared));
}
__device__ __forceinline__ void load_matrix_x4_transposed(uint32_t (&fragment)[4], uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(shared));
}

// One k16 step of the canonical chain: c += a x b, a [16, 16], b [16, 8].
__device__ __forceinline__ void multiply_k16(float (&c)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Registers of a thread from here on, for all warps of a warp group.
template <int Registers>
__device__ __forceinline__ void give_back_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

// For launches with the programmatic attribute; others find nothing to wait for. The first lets the next kernel of the stream
// start, which waits in the second until this one has finished with all its writes visible.
__device__ __forceinline__ void start_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// The two halves of the cluster's barrier. The first publishes nothing but barriers made visible by barrier_init_fence().
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// The address in the shared memory of another block of the cluster that corresponds to an own address.
__device__ __forceinline__ uint32_t remote_address(uint32_t shared, uint32_t rank) {
  uint32_t remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared), "r"(rank));
  return remote;
}

// Stores to a block of the cluster, counted in bytes on that block's barrier.
__device__ __forceinline__ void store_remote(uint32_t address, float2 value, uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1,%2}, [%3];" ::"r"(address),
               "r"(__float_as_uint(value.x)), "r"(__float_as_uint(value.y)), "r"(barrier)
               : "memory");
}
__device__ __forceinline__ void store_remote(uint32_t address, float4 value, uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];" ::"r"(address),
               "r"(__float_as_uint(value.x)), "r"(__float_as_uint(value.y)), "r"(__float_as_uint(value.z)),
               "r"(__float_as_uint(value.w)), "r"(barrier)
               : "memory");
}
// Arrives at such a barrier without waiting.
__device__ __forceinline__ void named_barrier_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Counts an arrival on a counter in device memory: releases what the block wrote before, acquires what earlier arrivals
// released.
__device__ __forceinline__ uint32_t count_arrival(uint32_t* counter) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}

// Waits for `threads` threads of the block, those that name the same barrier 1..15.
__device__ __forceinline__ void named_barrier(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// The same; true in all of them when it is true in one.
__device__ __forceinline__ bool named_barrier_any(int barrier, int threads, bool mine) {
  uint32_t any;
  asm volatile(
      "{\n"
      ".reg .pred mine, any;\n"
      "setp.ne.u32 mine, %3, 0;\n"
      "barrier.cta.red.or.pred any, %1, %2, mine;\n"
      "selp.u32 %0, 1, 0, any;\n"
      "}"
      : "=r"(any)
      : "r"(barrier), "r"(threads), "r"(static_cast<uint32_t>(mine))
      : "memory");
  return any;
}

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes an initialised barrier visible to the cluster; the cluster's barrier must follow before another block uses it.
__device__ __forceinline__ void barrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void barrier_arrive(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Arrives for a warp, all lanes of which have done what the barrier is about.
__device__ __forceinline__ void warp_arrive(uint32_t barrier, uint32_t arrivals) {
  __syncwarp();
  if (every_lane_arrives || threadIdx.x % 32 == 0) barrier_arrive(barrier, arrivals);
}
// Arrives once and announces bytes that blocks of the cluster will store.
__device__ __forceinline__ void barrier_arrive_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Whether the phase of this parity is over; then what it guards is visible.
__device__ __forceinline__ bool barrier_test(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n .reg .pred p;\n"
      " mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
      " selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done;
}
template <bool Cluster>
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  while (!done) {
    if constexpr (Cluster) {
      asm volatile(
          "{\n .reg .pred p;\n"
          " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
          " selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(barrier), "r"(parity)
          : "memory");
    } else {
      asm volatile(
          "{\n .reg .pred p;\n"
          " mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
          " selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(barrier), "r"(parity)
          : "memory");
    }
  }
}

} // namespace tik::attention::sm90
