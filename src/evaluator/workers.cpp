#include <algorithm>

#include "src/evaluator/stages.h"
#include "src/evaluator/timed_calls.h"

namespace tik::evaluator {
namespace {

// Bytes of the inputs and outputs of a call on `tokens` tokens a sequence, with room for padding, guards and unused pages.
void widen(MemoryNeed& need, spec::AttentionShape const& shape, std::int64_t heads, std::int64_t batch, std::int64_t tokens,
           std::int64_t page_size, std::int64_t queries) {
  std::int64_t const dim = shape.head_dim + 32;
  std::int64_t const cache_rows = batch * (tokens + 64 + 4 * page_size) + 8 * page_size;
  std::int64_t const input = 2 * 2 * cache_rows * (shape.kv_heads + 2) * dim + 2 * batch * (queries + 8) * (heads + 1) * dim;
  std::int64_t const output = batch * (queries + 8) * (heads + 1) * (2 * dim + 4);
  need.input_bytes = std::max(need.input_bytes, static_cast<std::size_t>(input));
  need.output_bytes = std::max(need.output_bytes, static_cast<std::size_t>(output));
}

} // namespace

MemoryNeed memory_need(spec::Specification const& specification, WorkerUse use) {
  MemoryNeed largest;
  std::size_t all_inputs = 0, all_outputs = 0; // the workloads lie side by side while they are measured
  for (spec::Workload const& workload : specification.workloads) {
    MemoryNeed need;
    bool const decode = workload.kind == spec::WorkloadKind::decode;
    widen(need, specification.shape, specification.shape.query_heads, workload.batch, workload.tokens + workload.prefix,
          workload.page_size, decode ? 1 : workload.tokens);
    Launches const launches = launches_of(workload, specification.shape, specification.target != "cpu");
    // Every launch has queries and outputs of its own, and some have the cache of another.
    all_inputs += need.input_bytes * static_cast<std::size_t>(launches.caches) +
                  need.output_bytes * static_cast<std::size_t>(launches.count - launches.caches);
    all_outputs += need.output_bytes * static_cast<std::size_t>(launches.count);
    // Timed calls are computed again one by one.
    largest.input_bytes = std::max(largest.input_bytes, need.input_bytes);
    largest.output_bytes = std::max(largest.output_bytes, need.output_bytes);
  }
  auto const longest = [](std::vector<int> const& values) {
    return values.empty() ? 1 : *std::max_element(values.begin(), values.end());
  };
  spec::Checks const& checks = specification.checks;
  std::int64_t const tokens = longest(checks.prompts) + longest(checks.responses);
  std::int64_t const heads = std::max(specification.shape.query_heads, 4 * longest(checks.query_heads_per_kv));
  widen(largest, specification.shape, heads, longest(checks.batches), tokens, longest(checks.page_sizes), tokens);
  widen(largest, specification.shape, heads, 3, std::max<std::int64_t>(tokens, 1024), longest(checks.page_sizes), tokens);
  constexpr std::size_t room = std::size_t{4} << 20;
  bool const gpu = specification.target != "cpu";
  if (use == WorkerUse::timing) {
    std::size_t const room_for_workspaces = (gpu ? std::size_t{4096} : std::size_t{32}) << 20;
    return {all_inputs + room, all_outputs + room + room_for_workspaces};
  }
  std::size_t const room_for_workspace = (gpu ? std::size_t{512} : std::size_t{32}) << 20;
  if (gpu) largest.output_bytes += largest.input_bytes; // a GPU's inputs come back to be compared
  return {largest.input_bytes + room, largest.output_bytes + room + room_for_workspace};
}

Checked<Session> start_session(StageContext const& context, BuiltImplementation const& implementation, WorkerUse use,
                               std::optional<int> processor) {
  SessionPlan plan;
  MemoryNeed const need = memory_need(context.specification, use);
  plan.library_folder = implementation.built.folder;
  plan.library_name = implementation.built.library_name;
  plan.symbols = symbols_of(implementation.manifest);
  plan.scratch = context.scratch;
  plan.layers = context.worker_layers;
  plan.gpu = context.gpu();
  plan.gpu_number = context.gpu_number;
  plan.watch = context.watch;
  plan.limits = context.specification.run_limits;
  plan.input_bytes = need.input_bytes;
  plan.output_bytes = need.output_bytes;
  plan.processor = processor;
  plan.cancel = context.cancel;
  return Session::start(plan);
}

Json close_workers(std::vector<Session*> const& sessions) {
  double cpu_seconds = 0;
  std::int64_t peak_memory_kb = 0;
  for (Session* session : sessions) {
    Exit const exit = session->close();
    cpu_seconds += exit.cpu_seconds;
    peak_memory_kb = std::max(peak_memory_kb, exit.peak_memory_kb);
  }
  return {{"cpu_seconds", cpu_seconds}, {"peak_memory_kb", peak_memory_kb}};
}

} // namespace tik::evaluator
