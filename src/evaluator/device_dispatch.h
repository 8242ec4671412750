// The dispatch evidence of a GPU: which kernels do the work of every workload, and what limits their resident blocks. There are
// two sources: the nodes of the timed graphs (device_dispatch() in device_timing.h), and the kernels that CUPTI saw run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/evaluator/stages.h"

namespace tik::evaluator {

// {"kernel", "grid", "block", "registers", "static_shared_bytes", "dynamic_shared_bytes", "local_bytes",
//  "occupancy": {"blocks_a_multiprocessor", "set_by", "limits"}}, of a kernel that ran also "duration_us"; of a node that is no
// kernel {"kind"}.
Json launch_json(NodeReply const& node);

// The kernels of one workload, recorded in a worker of its own: of a call by itself, of a call that is captured and launched,
// and of the captured graph launched again.
struct RecordedKernels {
  std::vector<NodeReply> called, captured, launched;
};

// What one of the recordings shows and the nodes of the workload's timed graph ("launches" of its dispatch evidence) do not, or
// the other way: a sentence for each kernel. Empty: they agree.
std::vector<std::string> differences(RecordedKernels const& recorded, Json const& nodes);

// What CUPTI recorded of every workload in a run of its own; `reason`: why it could not.
struct Recording {
  std::string source, reason;
  std::vector<std::pair<std::string, RecordedKernels>> workloads; // by id
};
Recording record_kernels(StageContext const& context, BuiltImplementation const& candidate);

// The evidence "dispatch" from a recording, compared with `nodes`, the evidence from the nodes of the timed graphs. Where CUPTI
// is not to be had it is `nodes`, with the reason in data["not_recorded"].
Evidence recorded_dispatch(Recording const& recording, Evidence const& nodes);

} // namespace tik::evaluator
