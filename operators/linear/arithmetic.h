// The canonical sums of dense linear that every backend computes alike. The product itself is each backend's own: a chain of
// k16 steps of the tensor core on Hopper, cpu/chain.h on CPUs.
#pragma once

#include "operators/row_sum.h"

namespace tik::operators::linear {

// The bias's gradient has this many partial sums: token t is added to number t % bias_lanes in order of t, then they are
// folded by halves (row_sum.h) and added to the gradient.
inline constexpr int bias_lanes = 8;

} // namespace tik::operators::linear
