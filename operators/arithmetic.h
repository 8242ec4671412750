// The canonical arithmetic that operators are written in: fp32 operations with one rounding each, to nearest even, and the
// conversions from and to bfloat16. The same source for the CPU and for CUDA, and the same bits: every function is an operation
// that IEEE 754 defines, or is made of such. Nothing here may be contracted, reassociated or flushed: host code is compiled
// with -ffp-contract=off, device code calls the intrinsics that the compiler leaves alone (docs/numerics.md).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "operators/abi.h"

#ifdef __CUDACC__
#define TIK_HOST_DEVICE __host__ __device__ __forceinline__
#define TIK_UNROLL _Pragma("unroll")
#else
#define TIK_HOST_DEVICE inline __attribute__((always_inline))
#define TIK_UNROLL _Pragma("GCC unroll 32")
#endif

namespace tik::operators {

TIK_HOST_DEVICE float bits_to_float(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

TIK_HOST_DEVICE uint32_t float_to_bits(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  return std::bit_cast<uint32_t>(x);
#endif
}

TIK_HOST_DEVICE float add(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

TIK_HOST_DEVICE float subtract(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fsub_rn(a, b);
#else
  return a - b;
#endif
}

TIK_HOST_DEVICE float multiply(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

// a * b + c with one rounding.
TIK_HOST_DEVICE float multiply_add(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

TIK_HOST_DEVICE float square_root(float x) {
#ifdef __CUDA_ARCH__
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}

TIK_HOST_DEVICE float reciprocal(float x) {
#ifdef __CUDA_ARCH__
  return __frcp_rn(x);
#else
  return 1.0f / x;
#endif
}

// reciprocal(x) for 1 <= x < 2^126 in a third of the instructions: what the intrinsic does once it has found x to be neither
// subnormal nor so large that 1 / x is. tests/gpu compares the two on every such x.
TIK_HOST_DEVICE float reciprocal_of_normal(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return __fmaf_rn(y, __fmaf_rn(-x, y, 1.0f), y);
#else
  return reciprocal(x);
#endif
}

// Exact.
TIK_HOST_DEVICE float to_float(tik_bf16 x) { return bits_to_float(static_cast<uint32_t>(x) << 16); }

// The two numbers of a 32-bit word, the one at the lower address first. Exact.
TIK_HOST_DEVICE float low_to_float(uint32_t pair) { return bits_to_float(pair << 16); }
TIK_HOST_DEVICE float high_to_float(uint32_t pair) { return bits_to_float(pair & 0xffff0000u); }

// The NaN that a conversion gives for every NaN.
inline constexpr tik_bf16 bf16_nan = 0x7fff;

// Rounds to nearest even; every NaN becomes bf16_nan.
TIK_HOST_DEVICE tik_bf16 to_bf16(float x) {
#ifdef __CUDA_ARCH__
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  uint32_t const bits = float_to_bits(x);
  if (x != x) return bf16_nan;
  return static_cast<tik_bf16>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
#endif
}

// Two numbers as a word, `low` at the lower address.
TIK_HOST_DEVICE uint32_t to_bf16_pair(float low, float high) {
#ifdef __CUDA_ARCH__
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return to_bf16(low) | static_cast<uint32_t>(to_bf16(high)) << 16;
#endif
}

} // namespace tik::operators
