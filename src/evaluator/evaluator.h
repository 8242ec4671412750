// The evaluator: a function of (specification, source tree, optionally the incumbent's tree) to one report. It knows no search.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "src/evaluator/report.h"
#include "src/evaluator/sandbox.h"
#include "src/spec/specification.h"

namespace tik::evaluator {

struct Request {
  spec::Specification const& specification;
  std::string seal;                                   // spec::seal of the search, or of the bare specification
  std::filesystem::path source;                       // folder with implementation.toml
  std::optional<std::filesystem::path> incumbent;     // its source folder, built and measured beside the candidate
  std::map<std::string, double> incumbent_latency_us; // recorded latencies by workload id; needed with `incumbent`
  std::filesystem::path scratch; // existing folder; everything written lies in a fresh folder below it, removed at the end
  std::filesystem::path
      build_cache; // folder where built libraries may be kept by source hash (incumbent: built once); empty: none
  std::function<void(std::string_view stage, double fraction)> progress; // may be empty
  std::atomic<bool> const* cancel = nullptr;                             // set: stop within a second, kill all children
  Protections const* protections = nullptr;                              // of this machine, when they were probed before
  std::vector<std::string> profile = {}; // workloads whose kernels a profiler looks at, on a GPU; by id
  int gpu_number = 0;                    // the GPU of a specification that needs one, as nvidia-smi numbers them
};

// What protects this machine from candidates of the specification. Trying it starts processes, so whoever evaluates again and
// again does it once. An input error when the specification needs a GPU and the one of this number cannot be used.
Result<Protections> protections_for(spec::Specification const& specification, std::filesystem::path const& scratch,
                                    int gpu_number = 0);

// Whatever the candidate does ends up in the report. An Error means the machine could not evaluate (no scratch space, no fork)
// or the request was wrong, or it was cancelled; nothing may be recorded then.
Result<Report> evaluate(Request const& request);

// How well the measurement tells a gain from none: evaluates the source alone (the request names no incumbent), then measures
// it `times` times beside itself, each time in new processes on new inputs, and says so of every report as soon as it is there.
// The build, the checks and the evidence are those of the first report, because only the measurement decides here. Ends early,
// with the report that says why, when the source is not verified or not measured.
Result<std::vector<Report>> evaluate_beside_itself(Request const& request, int times,
                                                   std::function<void(Report const&)> const& done);

// Builds the source as evaluate() would, contained and limited like it, and judges nothing: the stage "build" of a report, with
// what the compiler said about its loops in details["remarks"]. An Error as for evaluate().
Result<Stage> try_build(Request const& request);

// Entry of the untrusted child: `tik` re-executes itself with this. Returns the process exit code.
int worker_main(int argc, char** argv);

// Hash over the names and contents of a source tree (sorted by name); what Report::source_sha256 holds.
Result<std::string> hash_source_tree(std::filesystem::path const& folder);

} // namespace tik::evaluator
