// Timed calls that a candidate cannot win by remembering: every one works on values that no call before has seen, and some of
// them, chosen afterwards, are computed again by another process and compared.
#pragma once

#include "src/evaluator/image.h"
#include "src/evaluator/stages.h"

namespace tik::evaluator {

// A timed call as it was: its inputs and what came out.
struct TimedCall {
  CallShape shape;
  Dataset dataset;
  Outputs outputs;
};

// What is timed at once: on the CPU one call, on a GPU a graph of several, so that its time is long against the clock's steps.
// Each launch of a graph has queries and outputs of its own; large caches serve several launches, `caches` of them in turn.
struct Launches {
  int count = 1, caches = 1;
  int prelude = 0; // of them come before the timed ones, to warm the caches
};
Launches launches_of(spec::Workload const& workload, spec::AttentionShape const& shape, bool gpu);

// One workload. On the CPU it has its data, which both sides of a comparison get, each in its own worker; on a GPU values are
// drawn where they lie (device_inputs.h).
struct TimedWorkload {
  spec::Workload const* workload = nullptr;
  Launches launches;
  CallShape shape; // of every launch
  Dataset dataset;
  std::vector<TimedCall> kept; // of the candidate
  std::uint64_t calls = 0;
};

TimedWorkload prepare_workload(spec::Workload const& workload, spec::AttentionShape const& shape, bool gpu, Random& random);

inline constexpr int renewed_tokens = 4; // keys and values that change before every timed call, a sequence
inline constexpr int renewed_rows = 8;   // queries that change, a sequence
// Draws new queries and some new keys and values, and writes them to the image on every side.
void renew(TimedWorkload& workload, std::vector<Image*> const& images, Random& random);

// Keeps the latest call with the probability that makes every call equally likely to be among the kept.
void keep(TimedWorkload& workload, Outputs outputs, Random& random);

// Computes every kept call again in a fresh worker, the rows of some also through another entry point, and against float64.
Checked<int> verify_timed_calls(StageContext const& context, BuiltImplementation const& candidate,
                                std::vector<TimedWorkload> const& workloads);

} // namespace tik::evaluator
