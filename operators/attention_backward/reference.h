// Attention over packed sequences and its gradients in float64, in the plainest way.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/attention/contract.h"

namespace tik::operators::attention_backward {

// What a call should have written, [tokens, heads, head_dim] without gaps, and what the forward call should have. Rows after
// the last sequence are zeros.
struct Reference {
  std::vector<double> out;
  std::vector<double> lse; // [tokens, query_heads]
  std::vector<double> query_gradient, key_gradient, value_gradient;
};

// `offsets` has one more than there are sequences; the inputs are [tokens, heads, head_dim] without gaps.
Reference reference(tik_attention_shape const& shape, std::vector<std::int32_t> const& offsets,
                    std::vector<double> const& queries, std::vector<double> const& keys, std::vector<double> const& values,
                    std::vector<double> const& out_gradient);

} // namespace tik::operators::attention_backward
