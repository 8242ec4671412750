// A call of attention's backward in device memory: one sequence under check, others beside it, poison wherever nothing belongs.
#pragma once

#include <string>
#include <vector>

#include "operators/check/attention_backward_cases.h"

namespace tik::operators::check {

// The sequence under check, [tokens, heads, head_dim] without gaps.
struct BackwardInputs {
  AttentionBackwardShape shape;
  int tokens;
  std::vector<tik_bf16> queries, keys, values, out, out_gradient;
  std::vector<float> lse; // [tokens, query_heads]
};

// What a call makes of it, in the same layout.
struct BackwardOutputs {
  std::vector<tik_bf16> query_gradient, key_gradient, value_gradient;
  std::string problem; // refused, or something written where nothing belongs; empty when nothing is wrong
};

// Where the rows lie and what else is in the call.
struct BackwardLayout {
  int tokens;               // the first of the sequence
  int before = 0;           // tokens of a sequence before it, 0: none
  int after = 0;            // and of one after it
  int padding = 0;          // rows that belong to no sequence, at the end
  int gap = 0;              // elements between rows, a multiple of 8
  bool heads_first = false; // [heads, tokens, head_dim]
};

BackwardOutputs run_backward(Device& device, BackwardInputs const& inputs, BackwardLayout const& layout);

} // namespace tik::operators::check
