// The profiler evidence of a GPU: what Nsight Compute counts while the kernels of a workload run.
#pragma once

#include <string_view>
#include <vector>

#include "src/evaluator/stages.h"

namespace tik::evaluator {

// Counters of one call of each of these workloads, by id, from `ncu`, which runs the library in containment and apart from all
// that is timed. Where there is no `ncu`, or the driver refuses counters, the reason says so.
Evidence device_profile(StageContext const& context, BuiltImplementation const& candidate,
                        std::vector<std::string> const& workloads);

// Reads what `ncu --csv --page raw --print-units base` wrote: [{"kernel", "grid", "block", "metrics": {"duration_us": x,
// ...}}]. A metric that the tool does not give is null. An error when there is no table, with the tool's own words.
Result<Json> read_profile(std::string_view text);

} // namespace tik::evaluator
