// RoPE of one head in float64, from the angles themselves and not from a table in fp32.
#pragma once

#include <vector>

#include "operators/rotary/contract.h"

namespace tik::operators::rotary {

// x: [head_dim]. Of `table` the frequencies count. The inverse is the gradient, too.
std::vector<double> reference(std::vector<double> const& x, int position, tik_rotary_table_args const& table, bool inverse);

} // namespace tik::operators::rotary
