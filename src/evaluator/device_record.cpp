// The kernels of every workload as CUPTI sees them run, in a worker of its own that nothing is timed in.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "src/evaluator/device_dispatch.h"
#include "src/evaluator/device_inputs.h"
#include "src/evaluator/device_timing.h"
#include "src/evaluator/kernel_name.h"
#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

constexpr std::uint32_t most_kernels = 64;

// What tells kernels apart in both sources, in words.
std::string identity(Json const& launch) {
  auto const triple = [](Json const& sizes) { return fmt::format("{}", fmt::join(sizes.get<std::vector<unsigned>>(), "x")); };
  return fmt::format("{} (grid {}, block {}, {} bytes of dynamic shared memory)", launch.at("kernel").get<std::string>(),
                     triple(launch.at("grid")), triple(launch.at("block")), launch.at("dynamic_shared_bytes").get<unsigned>());
}

using Counts = std::map<std::string, int>;
Counts count(std::vector<NodeReply> const& kernels) {
  Counts counts;
  for (NodeReply const& kernel : kernels) ++counts[identity(launch_json(kernel))];
  return counts;
}
Counts count(Json const& nodes) {
  Counts counts;
  for (Json const& node : nodes) {
    if (node.contains("kernel")) ++counts[identity(node)];
  }
  return counts;
}

void compare(Counts const& ran, Counts const& nodes, char const* when, std::vector<std::string>& found) {
  auto const times = [](Counts const& counts, std::string const& kernel) {
    auto const at = counts.find(kernel);
    return at == counts.end() ? 0 : at->second;
  };
  Counts all = ran;
  all.insert(nodes.begin(), nodes.end());
  for (auto const& [kernel, ignored] : all) {
    int const seen = times(ran, kernel), wanted = times(nodes, kernel);
    if (seen == wanted) continue;
    found.push_back(
        fmt::format("{} ran {} times {}, and the timed graph has it {} times a launch.", kernel, seen, when, wanted));
  }
}

Checked<std::vector<NodeReply>> record(Session& session, CallRequest const& call, std::string& source) {
  constexpr char doing[] = "the recording of kernels";
  if (auto begun = session.exchange_done(RecordRequest{true}, doing); !begun) return tl::unexpected(begun.error());
  if (auto called = session.exchange_done(call, doing); !called) return tl::unexpected(called.error());
  Checked<CallResult> const ended = session.exchange_done(RecordRequest{false}, doing);
  if (!ended) return tl::unexpected(ended.error());
  source = valid_utf8(ended->reply.error);
  std::vector<NodeReply> kernels;
  for (std::uint32_t number = 0, all = 1; number < all; ++number) {
    Checked<NodeReply> kernel = session.inspect({0, number});
    if (!kernel) return tl::unexpected(kernel.error());
    all = std::min(kernel->nodes, most_kernels);
    if (number < all) kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

Checked<RecordedKernels> record_workload(Session& session, CallRequest call, std::string& source) {
  call.transfer.graph = false;
  auto const first = session.exchange_done(call, "a call to be recorded"); // what is made only once
  if (!first) return tl::unexpected(first.error());
  RecordedKernels recorded;
  for (auto const part : {&RecordedKernels::called, &RecordedKernels::captured, &RecordedKernels::launched}) {
    call.transfer.graph = part != &RecordedKernels::called;
    Checked<std::vector<NodeReply>> kernels = record(session, call, source);
    if (!kernels) return tl::unexpected(std::move(kernels.error()));
    recorded.*part = std::move(*kernels);
  }
  return recorded;
}

// In a worker that has all workloads laid out as the timed ones have.
Checked<void> record_all(StageContext const& context, BuiltImplementation const& candidate, Recording& recording) {
  Random random(context.seed ^ 0x6b65726e656c73);
  std::vector<TimedWorkload> workloads;
  for (spec::Workload const& workload : context.specification.workloads)
    workloads.push_back(prepare_workload(workload, context.specification.shape, true, random));
  DrawnValues const values(random);
  auto inputs = draw_inputs(memory_need(context.specification, WorkerUse::timing), values, random);
  if (!inputs) return machine_failure(inputs.error());
  Checked<std::unique_ptr<DeviceTiming>> timing = DeviceTiming::start(context, candidate, std::move(*inputs));
  if (!timing) return tl::unexpected(timing.error());
  if (auto laid_out = (*timing)->lay_out(workloads, nullptr, random); !laid_out) return laid_out;
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    std::string const& id = workloads[w].workload->id;
    Checked<RecordedKernels> recorded =
        record_workload((*timing)->session(), (*timing)->image(w, 0).request(), recording.source);
    if (!recorded) {
      Failure failure = recorded.error();
      failure.message = id + ": " + failure.message;
      return tl::unexpected(std::move(failure));
    }
    recording.workloads.emplace_back(id, std::move(*recorded));
  }
  (*timing)->session().close();
  return {};
}

// The nodes of one workload's timed graph; none when they are not known.
std::optional<Json> nodes_of(Evidence const& nodes, std::string const& workload) {
  if (!nodes.available) return std::nullopt;
  for (Json const& entry : nodes.data.at("workloads")) {
    if (entry.at("workload") == workload) return entry.at("launches");
  }
  return std::nullopt;
}

// The recorded kernels, with the number of resident blocks that the driver gave for the same kernel in the graph.
Json launches_json(std::vector<NodeReply> const& kernels, Json const& nodes) {
  Json launches = Json::array();
  for (NodeReply const& kernel : kernels) {
    Json launch = launch_json(kernel);
    for (Json const& node : nodes) {
      if (node.contains("kernel") && identity(node) == identity(launch)) launch["occupancy"] = node.at("occupancy");
    }
    launches.push_back(std::move(launch));
  }
  return launches;
}

Evidence not_recorded(Evidence nodes, std::string const& reason) {
  if (nodes.available) nodes.data["not_recorded"] = reason;
  return nodes;
}

} // namespace

std::vector<std::string> differences(RecordedKernels const& recorded, Json const& nodes) {
  std::vector<std::string> found;
  Counts const wanted = count(nodes);
  compare(count(recorded.called), wanted, "in a call by itself", found);
  compare(count(recorded.captured), wanted, "while a call was captured and launched", found);
  compare(count(recorded.launched), wanted, "when the captured graph was launched again", found);
  return found;
}

Recording record_kernels(StageContext const& context, BuiltImplementation const& candidate) {
  Recording recording;
  if (auto recorded = record_all(context, candidate, recording); !recorded)
    recording.reason = recorded.error().error ? recorded.error().error->message : recorded.error().message;
  return recording;
}

Evidence recorded_dispatch(Recording const& recording, Evidence const& nodes) {
  if (!recording.reason.empty()) return not_recorded(nodes, recording.reason);
  Evidence evidence;
  evidence.name = "dispatch";
  Json table = Json::array(), found = Json::array();
  for (auto const& [workload, recorded] : recording.workloads) {
    std::optional<Json> const known = nodes_of(nodes, workload);
    table.push_back({{"workload", workload}, {"launches", launches_json(recorded.called, known.value_or(Json::array()))}});
    if (!known) continue;
    for (std::string const& difference : differences(recorded, *known)) found.push_back(workload + ": " + difference);
  }
  evidence.available = true;
  evidence.source = recording.source + ": the kernels of a call in a process of its own" +
                    (nodes.available ? ", compared with the nodes of the timed CUDA graphs" : "");
  evidence.data = {{"declared", false}, {"workloads", std::move(table)}};
  if (nodes.available) {
    evidence.data["differences"] = std::move(found);
  } else {
    evidence.data["not_compared"] = nodes.reason;
  }
  return evidence;
}

} // namespace tik::evaluator
