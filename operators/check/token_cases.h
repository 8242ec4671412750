// The cases that every token-wise operator goes through: whatever else is in a call, a token's outputs have the bits they have
// when the token is alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operators/check/device.h"
#include "operators/check/results.h"
#include "operators/check/token_operator.h"

namespace tik::operators::check {

// How many cases: `thorough` is every count of tokens up to 300 and more, `brief` a selection in seconds, `tiny` a few small
// ones.
enum class Extent { tiny, brief, thorough };

struct CaseOptions {
  Extent extent = Extent::brief;
  std::uint64_t seed = 1;
  std::vector<std::string> operators = {}; // those to check, by the names of their lines; none: all

  bool wants(std::string_view operator_name) const {
    return operators.empty() || std::find(operators.begin(), operators.end(), operator_name) != operators.end();
  }
};

// Runs the cases of one operator as a line of the results. What is expected is what the CPU backend gives for a token alone, or
// the backend itself where the operator's bits are its own. Throws std::runtime_error when the device fails.
void check_token_operator(Device& device, TokenOperator const& checked, CaseOptions const& options, Results& results);

// The largest error of a row as a part of its largest magnitude; infinite when a number is not finite.
double row_error(Element element, std::vector<unsigned char> const& row, std::vector<double> const& exact);

} // namespace tik::operators::check
