// The kernels of every workload as CUPTI sees them run, in a worker of its own that nothing is timed in.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <optional>

#include "src/evaluator/device_dispatch.h"
#include "src/evaluator/kernel_name.h"
#include "src/evaluator/text.h"
#include "src/evaluator/timed_calls.h"

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

Checked<std::vector<NodeReply>> record(Session& session, Image& image, std::string& source) {
  constexpr char doing[] = "the recording of kernels";
  if (auto begun = session.exchange_done(RecordRequest{true}, doing); !begun) return tl::unexpected(begun.error());
  if (Checked<Outputs> const outputs = image.run(); !outputs) return tl::unexpected(outputs.error());
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

Checked<RecordedKernels> record_workload(Session& session, TimedWorkload const& timed, Random& random, std::string& source) {
  Arena arena(session);
  Checked<Image> image = Image::place(arena, timed.dataset, timed.shapes[0], random);
  if (!image) return tl::unexpected(std::move(image.error()));
  image->use_graph(false);
  if (Checked<Outputs> const first = image->run(); !first) return tl::unexpected(first.error()); // what is made only once
  RecordedKernels recorded;
  for (auto const part : {&RecordedKernels::called, &RecordedKernels::captured, &RecordedKernels::launched}) {
    image->use_graph(part != &RecordedKernels::called);
    Checked<std::vector<NodeReply>> kernels = record(session, *image, source);
    if (!kernels) return tl::unexpected(std::move(kernels.error()));
    recorded.*part = std::move(*kernels);
  }
  return recorded;
}

// One call of every workload. The gigabytes of a GPU's workloads are drawn side by side.
std::vector<std::future<TimedWorkload>> draw_workloads(spec::Specification const& specification, Random& random) {
  std::vector<std::future<TimedWorkload>> drawn;
  for (spec::Workload const& workload : specification.workloads) {
    drawn.push_back(std::async(std::launch::async, [&specification, &workload, seed = random.next()] {
      Random own(seed);
      return prepare_workload(workload, specification.shape, false, own);
    }));
  }
  return drawn;
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

Evidence recorded_dispatch(StageContext const& context, BuiltImplementation const& candidate, Evidence const& nodes) {
  Random random(context.seed ^ 0x6b65726e656c73);
  std::vector<std::future<TimedWorkload>> drawn = draw_workloads(context.specification, random);
  Checked<Session> session = start_session(context, candidate);
  if (!session) return not_recorded(nodes, session.error().message);
  Evidence evidence;
  evidence.name = "dispatch";
  Json table = Json::array(), found = Json::array();
  std::string source;
  for (std::future<TimedWorkload>& each : drawn) {
    TimedWorkload const timed = each.get();
    spec::Workload const& workload = *timed.workload;
    Checked<RecordedKernels> const recorded = record_workload(*session, timed, random, source);
    if (!recorded) return not_recorded(nodes, fmt::format("{}: {}", workload.id, recorded.error().message));
    std::optional<Json> const known = nodes_of(nodes, workload.id);
    table.push_back({{"workload", workload.id}, {"launches", launches_json(recorded->called, known.value_or(Json::array()))}});
    if (!known) continue;
    for (std::string const& difference : differences(*recorded, *known)) found.push_back(workload.id + ": " + difference);
  }
  session->close();
  evidence.available = true;
  evidence.source = source + ": the kernels of a call in a process of its own" +
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
