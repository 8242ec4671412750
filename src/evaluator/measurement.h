// The measurement stage: latencies of every workload, interleaved with the incumbent's in the same rounds.
#pragma once

#include "src/evaluator/stages.h"

namespace tik::evaluator {

struct Measured {
  std::vector<WorkloadMeasurement> workloads;
  Evidence counters; // the evidence "profiler"
  Evidence dispatch; // the evidence "dispatch", where it could be observed
  StageText text;
};

// `incumbent` may be null; then there is nothing to interleave with and `recorded_us` is not looked at. With one, a gain within
// the noise is measured again in fresh processes (gain.h); the details hold every measurement.
Checked<Measured> measure_workloads(StageContext const& context, BuiltImplementation const& candidate,
                                    BuiltImplementation const* incumbent, std::map<std::string, double> const& recorded_us);

// The largest processor that this process may run on, and nothing when it may run on one only.
std::optional<int> measuring_processor();

} // namespace tik::evaluator
