// Rows in device memory, eight columns (16 bytes) at a time.
#pragma once

#include <cuda_runtime.h>

#include "operators/arithmetic.h"
#include "operators/rows.h"
#include "operators/validate_rows.h"

namespace tik::operators::sm90 {

// n / d and n % d for any 0 <= n < 2^31 without a division; d is fixed on the host.
struct Divisor {
  uint32_t divisor = 1;
  uint32_t multiplier = 0;
  uint32_t shift = 0;

  Divisor() = default;
  explicit Divisor(uint32_t d) : divisor(d) {
    if (d <= 1) return;
    uint32_t bits = 1;
    while ((uint64_t{1} << bits) < d) ++bits;
    shift = 31 + bits;
    multiplier = static_cast<uint32_t>((uint64_t{1} << shift) / d + 1);
  }
  __device__ __forceinline__ uint32_t quotient(uint32_t n) const {
    return divisor == 1 ? n : static_cast<uint32_t>(uint64_t{n} * multiplier >> shift);
  }
};

// Rows numbered token * heads + head. Where heads follow each other as tokens do, the number alone tells the place.
template <typename Number>
struct RowPlaces {
  Number* data;
  int64_t token_stride;
  int64_t head_stride;

  __device__ __forceinline__ Number* row(int token, int head) const { return data + token * token_stride + head * head_stride; }
};
using SourceRows = RowPlaces<tik_bf16 const>;
using TargetRows = RowPlaces<tik_bf16>;

inline SourceRows places(tik_rows const& rows) { return {rows.data, rows.token_stride, rows.head_stride}; }
inline TargetRows places(tik_mutable_rows const& rows) { return {rows.data, rows.token_stride, rows.head_stride}; }

__device__ __forceinline__ uint4 load_chunk(tik_bf16 const* at) { return *reinterpret_cast<uint4 const*>(at); }
__device__ __forceinline__ void store_chunk(tik_bf16* at, uint4 chunk) { *reinterpret_cast<uint4*>(at) = chunk; }

// The eight numbers of a chunk.
__device__ __forceinline__ void unpack(uint4 const& chunk, float (&x)[8]) {
  uint32_t const words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = low_to_float(words[i]);
    x[2 * i + 1] = high_to_float(words[i]);
  }
}

__device__ __forceinline__ uint4 pack(float const (&x)[8]) {
  return {to_bf16_pair(x[0], x[1]), to_bf16_pair(x[2], x[3]), to_bf16_pair(x[4], x[5]), to_bf16_pair(x[6], x[7])};
}

} // namespace tik::operators::sm90
