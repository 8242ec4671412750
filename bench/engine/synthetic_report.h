// Reports of the size and form that the evaluator gives, with invented content.
#pragma once

#include <random>
#include <string>

#include "src/evaluator/report.h"

namespace tik::bench {

struct SyntheticOutcome {
  bool verified = true;
  double speed = 1; // latency relative to the root's
};

// Latencies are the root's invented ones times `speed`, with a little noise; nothing is measured when `verified` is false.
evaluator::Report synthetic_report(spec::Specification const& specification, SyntheticOutcome const& outcome,
                                   std::mt19937_64& random);

} // namespace tik::bench
