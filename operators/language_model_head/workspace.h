// How a call of the head is cut into chunks of tokens and of the vocabulary, and what its workspace holds. Chunks begin at
// multiples of a part, so they never show in the bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "operators/language_model_head/arithmetic.h"
#include "operators/linear/contract.h"

namespace tik::operators::language_model_head {

inline constexpr int32_t chunk_tokens = 4096;
inline constexpr int64_t chunk_logits = int64_t{1} << 24; // 64 MiB of fp32
inline constexpr int64_t workspace_alignment = 256;

inline int64_t round_up(int64_t size, int64_t step) { return (size + step - 1) / step * step; }
inline int64_t parts_of(int64_t vocabulary) { return round_up(vocabulary, part_columns) / part_columns; }

// What is computed at once. The columns follow from the tokens rounded up to a power of two, so that calls of similar sizes
// make the same products.
struct Chunk {
  int32_t tokens;
  int32_t columns;
};
inline Chunk chunk_of(int32_t tokens, int32_t vocabulary) {
  int32_t const together = std::min(tokens, chunk_tokens);
  int64_t const columns = chunk_logits / std::bit_ceil(static_cast<uint32_t>(together)) / part_columns * part_columns;
  return {together, static_cast<int32_t>(std::min<int64_t>(columns, vocabulary))};
}

// Byte offsets.
struct SoftmaxRegions {
  int64_t sums;     // [tokens, parts] of Sums
  int64_t target_z; // [tokens] of float
  int64_t bytes;
};
inline SoftmaxRegions softmax_regions(int32_t tokens, int32_t vocabulary) {
  int64_t const sums = round_up(tokens * parts_of(vocabulary) * static_cast<int64_t>(sizeof(Sums)), workspace_alignment);
  return {0, sums, sums + round_up(tokens * int64_t{4}, workspace_alignment)};
}

struct ForwardRegions {
  int64_t product; // of dense linear
  int64_t logits;  // [chunk tokens, chunk columns] of float
  int64_t softmax;
  int64_t bytes;
};
// Of any call of up to so many tokens: fewer tokens may have more logits at once, because the columns of a chunk go by powers
// of two. A caller asks once, for the most tokens it will have.
inline int64_t logits_bytes(int32_t tokens, int32_t vocabulary) {
  int64_t logits = 0;
  auto const take = [&](int32_t count) {
    Chunk const chunk = chunk_of(count, vocabulary);
    logits = std::max(logits, int64_t{chunk.tokens} * chunk.columns);
  };
  for (int32_t power = 1; power < std::min(tokens, chunk_tokens); power *= 2) take(power);
  take(tokens);
  return round_up(logits * 4, workspace_alignment);
}
inline ForwardRegions forward_regions(int32_t tokens, int32_t vocabulary) {
  Chunk const chunk = chunk_of(tokens, vocabulary);
  int64_t const softmax = TIK_LINEAR_WORKSPACE_BYTES + logits_bytes(tokens, vocabulary);
  return {0, TIK_LINEAR_WORKSPACE_BYTES, softmax, softmax + softmax_regions(chunk.tokens, vocabulary).bytes};
}

struct BackwardRegions {
  int64_t product;
  int64_t logits;
  int64_t logit_gradients; // [chunk tokens, chunk columns] of bfloat16
  int64_t x_gradient;      // [chunk tokens, in_features] of float
  int64_t bytes;
};
inline BackwardRegions backward_regions(int32_t tokens, int32_t in_features, int32_t vocabulary) {
  Chunk const chunk = chunk_of(tokens, vocabulary);
  int64_t const logit_gradients = TIK_LINEAR_WORKSPACE_BYTES + logits_bytes(tokens, vocabulary);
  int64_t const x_gradient = logit_gradients + round_up(logits_bytes(tokens, vocabulary) / 2, workspace_alignment);
  return {0, TIK_LINEAR_WORKSPACE_BYTES, logit_gradients, x_gradient,
          x_gradient + round_up(int64_t{chunk.tokens} * in_features * 4, workspace_alignment)};
}

} // namespace tik::operators::language_model_head
