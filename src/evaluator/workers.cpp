#include <algorithm>
#include <future>

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

MemoryNeed call_need(spec::Specification const& specification, spec::Workload const& workload) {
  MemoryNeed need;
  bool const decode = workload.kind == spec::WorkloadKind::decode;
  widen(need, specification.shape, specification.shape.query_heads, workload.batch, workload.tokens + workload.prefix,
        workload.page_size, decode ? 1 : workload.tokens);
  return need;
}

constexpr std::size_t room = std::size_t{4} << 20;

int longest(std::vector<int> const& values) { return values.empty() ? 1 : *std::max_element(values.begin(), values.end()); }

// All workloads side by side.
MemoryNeed timed_on_cpu(spec::Specification const& specification) {
  MemoryNeed all;
  for (spec::Workload const& workload : specification.workloads) {
    MemoryNeed const need = call_need(specification, workload);
    all.input_bytes += need.input_bytes;
    all.output_bytes += need.output_bytes;
  }
  constexpr std::size_t room_for_workspaces = std::size_t{32} << 20;
  return {all.input_bytes + room, all.output_bytes + room + room_for_workspaces};
}

// All workloads over each other, but for what is no value and no result.
MemoryNeed timed_on_gpu(spec::Specification const& specification) {
  constexpr std::int64_t gap = 64 << 10; // around a tensor
  constexpr std::size_t room_for_workspaces = std::size_t{4096} << 20;
  spec::AttentionShape const& shape = specification.shape;
  std::int64_t values = 0, results = 0, indices = room;
  for (spec::Workload const& workload : specification.workloads) {
    Launches const launches = launches_of(workload, shape, true);
    bool const decode = workload.kind == spec::WorkloadKind::decode, paged = workload.layout == spec::KvLayout::paged;
    std::int64_t const batch = workload.batch, tokens = std::int64_t{workload.tokens} + workload.prefix;
    std::int64_t const rows = batch * (decode ? 1 : workload.tokens);
    std::int64_t const page = paged ? workload.page_size : 1, pages = (tokens + page - 1) / page + 2;
    std::int64_t const cache = 2 * shape.kv_heads * shape.head_dim * (paged ? (batch * pages + 4) * page : batch * tokens);
    std::int64_t const queries = 2 * rows * shape.query_heads * shape.head_dim;
    values = std::max(values, launches.caches * 2 * (cache + gap) + launches.count * (queries + gap));
    results = std::max(results, launches.count * (queries + 4 * rows * shape.query_heads + 3 * gap));
    indices += launches.count * (4 * (2 * batch + 1 + (paged ? batch * pages : 0)) + gap / 4);
  }
  MemoryNeed need;
  need.value_bytes = static_cast<std::size_t>(values) + largest_rewind;
  need.result_bytes = static_cast<std::size_t>(results);
  need.input_bytes = need.value_bytes + static_cast<std::size_t>(indices);
  need.output_bytes = need.result_bytes + room_for_workspaces;
  return need;
}

} // namespace

MemoryNeed memory_need(spec::Specification const& specification, WorkerUse use) {
  bool const gpu = specification.target != "cpu";
  if (use == WorkerUse::timing) return gpu ? timed_on_gpu(specification) : timed_on_cpu(specification);
  MemoryNeed largest;
  for (spec::Workload const& workload : specification.workloads) { // timed calls are computed again one by one
    MemoryNeed const need = call_need(specification, workload);
    largest.input_bytes = std::max(largest.input_bytes, need.input_bytes);
    largest.output_bytes = std::max(largest.output_bytes, need.output_bytes);
  }
  spec::Checks const& checks = specification.checks;
  std::int64_t const tokens = longest(checks.prompts) + longest(checks.responses);
  std::int64_t const heads = std::max(specification.shape.query_heads, 4 * longest(checks.query_heads_per_kv));
  widen(largest, specification.shape, heads, longest(checks.batches), tokens, longest(checks.page_sizes), tokens);
  widen(largest, specification.shape, heads, 3, std::max<std::int64_t>(tokens, 1024), longest(checks.page_sizes), tokens);
  std::size_t const room_for_workspace = (gpu ? std::size_t{512} : std::size_t{32}) << 20;
  if (gpu) largest.output_bytes += largest.input_bytes; // a GPU's inputs come back to be compared
  return {largest.input_bytes + room, largest.output_bytes + room + room_for_workspace};
}

Checked<Session> start_session(StageContext const& context, BuiltImplementation const& implementation, WorkerUse use,
                               std::optional<int> processor, std::shared_ptr<SharedMemory> inputs) {
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
  plan.shared_inputs = std::move(inputs);
  plan.output_bytes = need.output_bytes;
  plan.processor = processor;
  plan.cancel = context.cancel;
  return Session::start(plan);
}

Checked<std::pair<Session, Session>> start_two_sessions(StageContext const& context,
                                                        BuiltImplementation const& implementation) {
  auto other = std::async(std::launch::async, [&] { return start_session(context, implementation); });
  Checked<Session> first = start_session(context, implementation);
  Checked<Session> second = other.get();
  if (!first) return tl::unexpected(std::move(first.error()));
  if (!second) return tl::unexpected(std::move(second.error()));
  return std::pair(std::move(*first), std::move(*second));
}

Json close_workers(std::vector<Session*> const& sessions) {
  std::vector<Json> each;
  for (Session* session : sessions) {
    Exit const exit = session->close();
    SessionCost const& cost = session->cost();
    each.push_back({{"count", 1},
                    {"cpu_seconds", exit.cpu_seconds},
                    {"peak_memory_kb", exit.peak_memory_kb},
                    {"start_seconds", cost.start_seconds},
                    {"wait_seconds", cost.wait_seconds},
                    {"requests", cost.requests}});
  }
  return workers_together(each);
}

Json workers_together(std::vector<Json> const& groups) {
  Json all = {{"count", 0},           {"cpu_seconds", 0.0},  {"peak_memory_kb", 0},
              {"start_seconds", 0.0}, {"wait_seconds", 0.0}, {"requests", 0}};
  for (Json const& group : groups) {
    for (char const* key : {"count", "requests"}) all[key] = all[key].get<int>() + group.at(key).get<int>();
    for (char const* key : {"cpu_seconds", "start_seconds", "wait_seconds"})
      all[key] = all[key].get<double>() + group.at(key).get<double>();
    all["peak_memory_kb"] = std::max(all["peak_memory_kb"].get<std::int64_t>(), group.at("peak_memory_kb").get<std::int64_t>());
  }
  return all;
}

} // namespace tik::evaluator
