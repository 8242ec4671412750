// The cases that every token-wise operator goes through: whatever else is in a call, a token's outputs have the bits they have
// when the token is alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "operators/check/device.h"
#include "operators/check/token_operator.h"

namespace tik::operators::check {

// Takes the result of one case: which operator and shape, which case, and when it failed what differs.
using Record =
    std::function<void(bool passed, std::string const& operator_name, std::string const& label, std::string const& detail)>;

// How many cases: `thorough` is every count of tokens up to 300 and more, `brief` a selection in seconds, `tiny` a few small
// ones.
enum class Extent { tiny, brief, thorough };

struct TokenCaseOptions {
  Extent extent = Extent::brief;
  std::uint64_t seed = 1;
};

// What was seen of the float64 definition.
struct Accuracy {
  double largest_error = 0; // as a part of the largest magnitude of its row
  int rows = 0;
};

// Runs the cases of one operator and records each. What is expected is what the CPU backend gives for a token alone, or the
// backend itself where the operator's bits are its own. Throws std::runtime_error when the device fails.
Accuracy check_token_operator(Device& device, TokenOperator const& checked, TokenCaseOptions const& options,
                              Record const& record);

} // namespace tik::operators::check
