// The evidence stage: what can be read off the built library and the manifest. It never fails a candidate.
#pragma once

#include "src/evaluator/stages.h"

namespace tik::evaluator {

// Dispatch, compiler, instructions and profiler, in this order; what could not be had says why. `dispatch` (where it was
// observed) and `counters` come from the measurement, `instructions` from instruction_evidence(). On a GPU the profiler looks
// at the workloads of `profile`.
std::vector<Evidence> collect_evidence(StageContext const& context, BuiltImplementation const& candidate,
                                       Evidence const& dispatch, Evidence const& counters, Evidence const& instructions,
                                       std::vector<std::string> const& profile);

// The evidence "instructions": the built library, disassembled in containment and counted.
Evidence instruction_evidence(StageContext const& context, BuiltImplementation const& candidate);

// Instructions of a library from the text of `objdump -d --no-show-raw-insn`: by function and by entry point.
// {"entry_points": [{"symbol", "bytes", "instructions", "classes", "calls", "functions"}], "functions": [...], "total": {...}}
Json summarize_instructions(std::string_view disassembly, std::vector<std::string> const& entry_points);

} // namespace tik::evaluator
