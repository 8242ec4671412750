// The stages that run a built candidate. Each returns what the report says about it, or why it failed.
#pragma once

#include <functional>
#include <memory>

#include "src/evaluator/build.h"
#include "src/evaluator/session.h"

namespace tik::evaluator {

// What a stage has to say when it passed.
struct StageText {
  std::string message;
  Json details = Json::object();
};

// An implementation that was built.
struct BuiltImplementation {
  spec::Manifest manifest;
  Built built;
};

struct StageContext {
  spec::Specification const& specification;
  std::filesystem::path scratch;
  Layers layers;             // of a command
  Layers worker_layers;      // of a worker
  std::uint64_t seed;        // of the inputs: the specification's and a value of this audit's own
  int gpu_number;            // the GPU, as nvidia-smi numbers them
  GpuWatch* watch = nullptr; // of the GPU, where there is one that can be asked
  std::atomic<bool> const* cancel = nullptr;
  std::function<void(double fraction)> progress;

  bool gpu() const { return specification.target != "cpu"; }
  void report_progress(double fraction) const {
    if (progress) progress(fraction);
  }
};

// What a worker is for: checks, where one call is laid out at a time, or timing, where all workloads lie side by side.
enum class WorkerUse { checks, timing };

// Shared memory that suffices for every check, or for every workload of the specification.
struct MemoryNeed {
  std::size_t input_bytes = 0, output_bytes = 0;
  // For timing on a GPU, where workloads lie over each other: of the inputs the first, of the outputs the last.
  std::size_t value_bytes = 0, result_bytes = 0;
};
MemoryNeed memory_need(spec::Specification const& specification, WorkerUse use);

// A worker with `implementation` loaded; with inputs of its own, or those that it shares with others.
Checked<Session> start_session(StageContext const& context, BuiltImplementation const& implementation,
                               WorkerUse use = WorkerUse::checks, std::optional<int> processor = std::nullopt,
                               std::shared_ptr<SharedMemory> inputs = nullptr);

// Two such workers, started at the same time.
Checked<std::pair<Session, Session>> start_two_sessions(StageContext const& context, BuiltImplementation const& implementation);

// Ends workers in good order and says what they used: {"count", "cpu_seconds", "peak_memory_kb" (the largest), "start_seconds",
// "wait_seconds", "requests"}, summed over them.
Json close_workers(std::vector<Session*> const& sessions);
// The same of several groups of workers.
Json workers_together(std::vector<Json> const& groups);

// Bits of full, extend and decode at every position, over prompts, responses, batches, GQA ratios, layouts and cuts.
Checked<StageText> check_consistency(StageContext const& context, BuiltImplementation const& candidate);
// Outputs against the float64 reference.
Checked<StageText> check_accuracy(StageContext const& context, BuiltImplementation const& candidate);
// Changed inputs in the same buffers, repeated calls, random order, refusals of bad arguments, padded batches, the workspace.
Checked<StageText> check_robustness(StageContext const& context, BuiltImplementation const& candidate);

} // namespace tik::evaluator
