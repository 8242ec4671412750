// Timed calls that a candidate cannot win by remembering: every one works on values that no call before has seen, and some of
// them, chosen afterwards, are computed again by another process and compared.
#pragma once

#include "src/evaluator/image.h"
#include "src/evaluator/stages.h"

namespace tik::evaluator {

// A timed call as it was: its inputs and what came out.
struct TimedCall {
  Dataset dataset;
  Outputs outputs;
};

// One workload with its data. Both sides of a comparison get the same values, each in its own worker.
struct TimedWorkload {
  spec::Workload const* workload = nullptr;
  CallShape shape;
  Dataset dataset;
  std::vector<TimedCall> kept; // of the candidate
  std::uint64_t calls = 0;
};

TimedWorkload prepare_workload(spec::Workload const& workload, tik_attention_shape const& shape, Random& random);

// Draws new queries and some new keys and values, and writes them to every image.
void renew(TimedWorkload& workload, std::vector<Image*> const& images, Random& random);

// Keeps the latest call with the probability that makes every call equally likely to be among the kept.
void keep(TimedWorkload& workload, Outputs outputs, Random& random);

// Computes every kept call again in a fresh worker, the rows of some also through another entry point, and against float64.
Checked<int> verify_timed_calls(StageContext const& context, BuiltImplementation const& candidate,
                                std::vector<TimedWorkload> const& workloads);

} // namespace tik::evaluator
