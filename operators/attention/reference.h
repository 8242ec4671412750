// The float64 reference of unified attention: the function of contract.h computed in the plainest way, with none of the
// canonical arithmetic of a backend, so that two paths that are wrong alike are still found out. Host memory only; C++20 and
// the standard library only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/attention/contract.h"
#include "operators/attention/validate.h"

namespace tik::attention {

// What a call should have written, without rounding to bf16 or fp32.
struct Reference {
  int64_t rows = 0;        // query rows: query_offsets[batch] for full and extend, batch for decode
  std::vector<double> out; // [rows, query_heads, head_dim]
  std::vector<double> lse; // [rows, query_heads], natural logarithm
};

// Fills `reference` with the outputs of `entry` for `args`, whose pointers are host memory. Of `args` the outputs, the limits
// and the workspace are not looked at; the rest must be good (validate_args), lengths and page tables included. Scores are
// float64 sums in order of head_dim, the softmax takes the maximum of all scores first, and sums run over all keys at once.
// Rows before query_offsets[0] are zeros with lse -infinity, like the decode row of a sequence of length 0. Heads are spread
// over `threads` threads (0: one a core). Refuses a bad shape.
std::optional<Refusal> compute_reference(Entry entry, tik_attention_args const& args, Reference& reference, int threads = 0);

} // namespace tik::attention
