// The cases of attention's gradients: those of a sequence have the same bits whatever else is in the call and wherever its rows
// lie, those of a query do not depend on later tokens, and all are near float64.
#pragma once

#include "operators/check/device.h"
#include "operators/check/results.h"
#include "operators/check/token_cases.h"

namespace tik::operators::check {

struct AttentionBackwardShape {
  int query_heads, kv_heads, head_dim;
};
std::string describe(AttentionBackwardShape const& shape);

// One line of the results. Throws std::runtime_error when the device fails.
void check_attention_backward(Device& device, AttentionBackwardShape const& shape, CaseOptions const& options,
                              Results& results);

} // namespace tik::operators::check
