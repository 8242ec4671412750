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

// One workload with its data. Both sides of a comparison get the same values, each in its own worker.
struct TimedWorkload {
  spec::Workload const* workload = nullptr;
  Launches launches;
  std::vector<CallShape> shapes; // one a launch
  Dataset dataset;
  std::vector<TimedCall> kept; // of the candidate
  std::uint64_t calls = 0;
};

TimedWorkload prepare_workload(spec::Workload const& workload, spec::AttentionShape const& shape, bool gpu, Random& random);

// What renew() changed in a launch's images, by sequences of the call.
struct Renewed {
  struct Token {
    int row_range, token;
  };
  struct QueryRows {
    int row_range, first, count;
  };
  std::vector<Token> tokens;
  std::vector<QueryRows> queries;
};
// Draws new queries and some new keys and values for one launch, and writes them to its image on every side.
Renewed renew(TimedWorkload& workload, int launch, std::vector<Image*> const& images, Random& random);

// Keeps the latest call with the probability that makes every call equally likely to be among the kept.
void keep(TimedWorkload& workload, Outputs outputs, Random& random);
// Keeps one call of a launch.
void keep_launch(TimedWorkload& workload, int launch, Outputs outputs);

// Computes every kept call again in a fresh worker, the rows of some also through another entry point, and against float64.
Checked<int> verify_timed_calls(StageContext const& context, BuiltImplementation const& candidate,
                                std::vector<TimedWorkload> const& workloads);

} // namespace tik::evaluator
