// The cases of gradients that are sums over tokens: their bits follow from the tokens and their order alone.
#pragma once

#include "operators/check/results.h"
#include "operators/check/token_cases.h"

namespace tik::operators::check {

// The gradient of RMSNorm's weight, against the CPU backend bit by bit and against float64.
void check_weight_gradient(Device& device, int heads, int columns, CaseOptions const& options, Results& results);

// The gradient of the embedding's table, with ids that come once and often.
void check_table_gradient(Device& device, int columns, int vocabulary, CaseOptions const& options, Results& results);

} // namespace tik::operators::check
