#include "operators/check/operators.h"

namespace tik::operators::check {
namespace {

// Hidden sizes of Qwen2.5 and Qwen3 dense models, and the ends of what the contract allows.
std::vector<int> hidden_sizes(Extent extent) {
  if (extent == Extent::tiny) return {1536};
  if (extent == Extent::brief) return {896, 2560, 4096};
  return {8, 264, 896, 1024, 1536, 2048, 2560, 3584, 4096, 5120, 8192};
}

void add_rms_norm(TokenOperators& operators, Extent extent) {
  for (int const hidden : hidden_sizes(extent)) {
    for (bool const residual : {false, true}) operators.push_back(make_rms_norm(1, hidden, residual));
  }
  for (int const head_dim : {64, 128}) operators.push_back(make_rms_norm(8, head_dim, false));
  operators.push_back(make_rms_norm(32, 128, false, Distribution::binades));
  operators.push_back(make_rms_norm(1, 4096, true, Distribution::binades));
}

} // namespace

TokenOperators suite_operators(Extent extent) {
  TokenOperators operators;
  add_rms_norm(operators, extent);
  return operators;
}

} // namespace tik::operators::check
