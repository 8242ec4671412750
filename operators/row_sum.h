// The one order in which numbers of a row are added (docs/numerics.md, "Sums over a row"): it follows from the column alone,
// never from how many threads share a row.
//
//   chunk   8 columns, one chain from +0 in order of column
//   group   32 chunks (256 columns), folded by halves: chunk i of a group gets chunk i + 16, then + 8, 4, 2, 1
//   row     groups folded by halves in the same way, as if there were a power of two of them
//
// A chunk or group that the row does not have counts as +0, and adding +0 changes nothing: a chain from +0 is never -0.
// operators/sm90/row_sum.cuh is the same with the chunks of a row spread over threads.
#pragma once

#include "operators/arithmetic.h"

namespace tik::operators {

inline constexpr int chunk_columns = 8;
inline constexpr int group_chunks = 32;
inline constexpr int largest_groups = 32;
inline constexpr int largest_columns = largest_groups * group_chunks * chunk_columns;

// Upper half added to lower half until one is left of the first `Left`. A function a half, because a loop over halves leaves
// 32 sums in memory that ought to be registers.
template <int Left, int Count>
TIK_HOST_DEVICE float fold_first(float (&sums)[Count]) {
  static_assert((Left & (Left - 1)) == 0 && Left <= Count);
  if constexpr (Left > 1) {
    TIK_UNROLL
    for (int i = 0; i < Left / 2; ++i) sums[i] = add(sums[i], sums[i + Left / 2]);
    return fold_first<Left / 2>(sums);
  }
  return sums[0];
}
template <int Count>
TIK_HOST_DEVICE float fold_halves(float (&sums)[Count]) {
  return fold_first<Count>(sums);
}

// The sum of a row of `columns` (a multiple of 8). chunk(i) is the chain over columns 8i to 8i + 7.
template <typename Chunk>
float row_sum(int columns, Chunk chunk) {
  int const chunks = columns / chunk_columns;
  float groups[largest_groups] = {};
  for (int first = 0; first < chunks; first += group_chunks) {
    float lanes[group_chunks] = {};
    for (int lane = 0; lane < group_chunks && first + lane < chunks; ++lane) lanes[lane] = chunk(first + lane);
    groups[first / group_chunks] = fold_halves(lanes);
  }
  return fold_halves(groups);
}

} // namespace tik::operators
