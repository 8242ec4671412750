// wgmma on bfloat16 tiles with an fp32 accumulator, for the hardware contract test: every N that the kernels use, A in shared
// memory or in registers, operands without swizzle.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tik::gpu_suite {

// A tile of core matrices, 8 x 8 elements of 128 bytes each. `along_k` bytes lie between core matrices that follow each other
// along k, `along_rows` bytes between those that follow along m or n.
__device__ inline uint64_t tile_descriptor(void const* tile, uint32_t along_k, uint32_t along_rows) {
  uint64_t const address = __cvta_generic_to_shared(tile);
  return (address & 0x3ffff) >> 4 | static_cast<uint64_t>(along_k >> 4) << 16 | static_cast<uint64_t>(along_rows >> 4) << 32;
}

__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void wgmma_wait() {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// The accumulator registers of one lane as asm operands: text and constraints.
#define TIK_REGISTERS_4 "%0, %1, %2, %3"
#define TIK_REGISTERS_8 \
  TIK_REGISTERS_4       \
  ", "                  \
  "%4, %5, %6, %7"
#define TIK_REGISTERS_32                                                                                    \
  TIK_REGISTERS_8                                                                                           \
  ", "                                                                                                      \
  "%8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
  "%29, %30, %31"
#define TIK_REGISTERS_64                                                                                 \
  TIK_REGISTERS_32                                                                                       \
  ", "                                                                                                   \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
  "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TIK_REGISTERS_128                                                                                    \
  TIK_REGISTERS_64                                                                                           \
  ", "                                                                                                       \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, "     \
  "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, " \
  "%104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, "   \
  "%121, %122, %123, %124, %125, %126, %127"
#define TIK_OUT_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TIK_OUT_8(d, i) TIK_OUT_4(d, i), TIK_OUT_4(d, i + 4)
#define TIK_OUT_32(d, i) TIK_OUT_8(d, i), TIK_OUT_8(d, i + 8), TIK_OUT_8(d, i + 16), TIK_OUT_8(d, i + 24)
#define TIK_OUT_64(d, i) TIK_OUT_32(d, i), TIK_OUT_32(d, i + 32)
#define TIK_OUT_128(d, i) TIK_OUT_64(d, i), TIK_OUT_64(d, i + 64)

// d = a x b + (accumulate ? d : 0) for one k16 step. `transposed_b`: B lies with n contiguous instead of k.
template <int n, bool transposed_b = false>
struct Wgmma;

template <bool transposed_b>
struct Wgmma<8, transposed_b> {
  static constexpr int registers = 4;
  __device__ static void run(float (&d)[4], uint64_t a, uint64_t b, int accumulate) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {" TIK_REGISTERS_4
                 "}, %4, %5, p, 1, 1, 0, %7; }"
                 : TIK_OUT_4(d, 0)
                 : "l"(a), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
  __device__ static void run(float (&d)[4], uint32_t const (&a)[4], uint64_t b, int accumulate) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %9, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {" TIK_REGISTERS_4
                 "}, {%4, %5, %6, %7}, %8, p, 1, 1, %10; }"
                 : TIK_OUT_4(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
};

template <bool transposed_b>
struct Wgmma<16, transposed_b> {
  static constexpr int registers = 8;
  __device__ static void run(float (&d)[8], uint64_t a, uint64_t b, int accumulate) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {" TIK_REGISTERS_8
                 "}, %8, %9, p, 1, 1, 0, %11; }"
                 : TIK_OUT_8(d, 0)
                 : "l"(a), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
  __device__ static void run(float (&d)[8], uint32_t const (&a)[4], uint64_t b, int accumulate) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %13, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {" TIK_REGISTERS_8
                 "}, {%8, %9, %10, %11}, %12, p, 1, 1, %14; }"
                 : TIK_OUT_8(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
};

template <bool transposed_b>
struct Wgmma<64, transposed_b> {
  static constexpr int registers = 32;
  __device__ static void run(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" TIK_REGISTERS_32
        "}, %32, %33, p, 1, 1, 0, %35; }"
        : TIK_OUT_32(d, 0)
        : "l"(a), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
  __device__ static void run(float (&d)[32], uint32_t const (&a)[4], uint64_t b, int accumulate) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" TIK_REGISTERS_32
        "}, {%32, %33, %34, %35}, %36, p, 1, 1, %38; }"
        : TIK_OUT_32(d, 0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
};

template <bool transposed_b>
struct Wgmma<128, transposed_b> {
  static constexpr int registers = 64;
  __device__ static void run(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" TIK_REGISTERS_64
        "}, %64, %65, p, 1, 1, 0, %67; }"
        : TIK_OUT_64(d, 0)
        : "l"(a), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
  __device__ static void run(float (&d)[64], uint32_t const (&a)[4], uint64_t b, int accumulate) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" TIK_REGISTERS_64
        "}, {%64, %65, %66, %67}, %68, p, 1, 1, %70; }"
        : TIK_OUT_64(d, 0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
};

template <bool transposed_b>
struct Wgmma<256, transposed_b> {
  static constexpr int registers = 128;
  __device__ static void run(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" TIK_REGISTERS_128
        "}, %128, %129, p, 1, 1, 0, %131; }"
        : TIK_OUT_128(d, 0)
        : "l"(a), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
  __device__ static void run(float (&d)[128], uint32_t const (&a)[4], uint64_t b, int accumulate) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %133, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" TIK_REGISTERS_128
        "}, {%128, %129, %130, %131}, %132, p, 1, 1, %134; }"
        : TIK_OUT_128(d, 0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(int{transposed_b}));
  }
};

#undef TIK_REGISTERS_4
#undef TIK_REGISTERS_8
#undef TIK_REGISTERS_32
#undef TIK_REGISTERS_64
#undef TIK_REGISTERS_128
#undef TIK_OUT_4
#undef TIK_OUT_8
#undef TIK_OUT_32
#undef TIK_OUT_64
#undef TIK_OUT_128

} // namespace tik::gpu_suite
