// When a candidate that seems faster than the incumbent is measured again, and which of several measurements counts.
//
// Promotion asks for a strictly lower T, and noise alone gives that to every second candidate that changes nothing. So a gain
// within the noise is measured again, in fresh processes, until a measurement shows none or the specification's number of
// repeats is reached; and the measurement with the smallest gain is the one that counts. By noise alone a candidate is promoted
// as often as one measurement of it goes beyond the noise, and else at most once in 2^(1 + repeats).
#pragma once

#include <cstddef>
#include <vector>

#include "src/spec/specification.h"

namespace tik::evaluator {

// What one measurement says of the candidate against the incumbent.
struct Comparison {
  double total_ratio = 1; // T of the candidate over T of the incumbent, as it would be recorded
  double uncertainty = 0; // half the width of the 95 % interval of the rounds' total ratios
};

// The index of the measurement that counts: the one with the largest total ratio. At least one.
std::size_t counted_measurement(std::vector<Comparison> const& measured);

// Whether what counts so far is a gain, but one within the noise, and may be measured again.
bool measured_again(std::vector<Comparison> const& measured, spec::Measurement const& settings);

} // namespace tik::evaluator
