// The pictures of a search, each a whole SVG document made from plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/report/attempt.h"
#include "src/report/usage.h"

namespace tik::report {

// The incumbent's speedup over the steps as a staircase, with every audited offspring as a mark at its own speedup; those
// without a total latency stand on the baseline as crosses. `attempts`: the root first, then the offspring, one a step.
std::string plot_speedup(std::string const& search, std::vector<Attempt> const& attempts);

struct WorkloadPair {
  std::string id;
  double root_us = 0;  // the fixed baseline
  double best_us = 0;  // the incumbent's recorded latency
  double limit_us = 0; // the largest that may be promoted
};

// Root and best latency of every workload on a common logarithmic axis, with the ratio and the limit.
std::string plot_latency(std::string const& search, std::string const& best, std::vector<WorkloadPair> const& workloads);

// Improvement per million model tokens over the steps.
std::string plot_efficiency(std::string const& search, std::vector<StepUsage> const& steps);

// The derivation graph in layers: verdict by colour, branch status by outline, the path to the incumbent drawn heavy. A long
// history is thinned to the best path, the retained branches and the newest attempts; the caption says how many are left out.
std::string plot_lineage(std::string const& search, std::vector<Attempt> const& attempts);

} // namespace tik::report
