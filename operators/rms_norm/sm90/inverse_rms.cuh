// The factors of rows that some lanes of a warp share, for every kernel that normalises narrow rows.
#pragma once

#include "operators/rms_norm/arithmetic.h"
#include "operators/sm90/row_sum.cuh"

namespace tik::operators::sm90 {

// inverse_rms of `Rows` rows, from the sums of squares that each of their `Lanes` lanes holds. Called by whole warps. Each lane
// computes the root of one row, because a root takes longer than to ask another lane for it.
template <int Lanes, int Rows>
__device__ __forceinline__ void inverse_rms_of_rows(float (&squares)[Rows], float inverse_columns, float epsilon,
                                                    float (&inverse)[Rows]) {
  float const own = rms_norm::inverse_rms(sums_of_lanes<Lanes, Rows>(squares), inverse_columns, epsilon);
#pragma unroll
  for (int k = 0; k < Rows; ++k) {
    inverse[k] = Rows == 1 ? own : __shfl_sync(whole_warp, own, lane_of_sum<Lanes, Rows>(k), Lanes);
  }
}

} // namespace tik::operators::sm90
