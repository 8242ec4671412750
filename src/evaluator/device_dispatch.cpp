#include "src/evaluator/device_dispatch.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/evaluator/device_timing.h"
#include "src/evaluator/kernel_name.h"

namespace tik::evaluator {
namespace {

constexpr std::uint32_t most_nodes = 16;

// A multiprocessor of compute capability 9.0 (CUDA C++ Programming Guide, technical specifications).
constexpr std::uint32_t registers_in_all = 65536, shared_bytes_in_all = 228 << 10, threads_in_all = 2048, blocks_in_all = 32;
constexpr std::uint32_t registers_a_step = 256; // a warp gets registers in steps of so many
constexpr std::uint32_t reserved_shared_bytes = 1 << 10;

struct Limit {
  char const* name;
  std::uint32_t blocks;
};

Json occupancy_json(NodeReply const& node) {
  std::uint32_t const threads = std::max(1U, node.block[0] * node.block[1] * node.block[2]);
  std::uint32_t const warps = (threads + 31) / 32;
  std::uint32_t const warp_registers = (node.registers * 32 + registers_a_step - 1) / registers_a_step * registers_a_step;
  std::uint32_t const shared_bytes = node.static_shared_bytes + node.dynamic_shared_bytes + reserved_shared_bytes;
  Limit const limits[] = {{"registers", registers_in_all / std::max(1U, warp_registers * warps)},
                          {"shared memory", shared_bytes_in_all / shared_bytes},
                          {"threads", threads_in_all / (warps * 32)},
                          {"blocks", blocks_in_all}};
  Limit const& least = *std::min_element(std::begin(limits), std::end(limits),
                                         [](Limit const& a, Limit const& b) { return a.blocks < b.blocks; });
  Json set_by = Json::array(); // several may be as tight
  for (Limit const& limit : limits) {
    if (limit.blocks == least.blocks) set_by.push_back(limit.name);
  }
  std::uint32_t const blocks = node.blocks_a_multiprocessor != 0 ? node.blocks_a_multiprocessor : least.blocks;
  Json json = {{"blocks_a_multiprocessor", blocks}, {"set_by", std::move(set_by)}};
  for (Limit const& limit : limits) json["limits"][limit.name] = limit.blocks;
  return json;
}

} // namespace

Json launch_json(NodeReply const& node) {
  if (node.type != 0) return {{"kind", fmt::format("node of type {}", node.type)}};
  Json json = {{"kernel", kernel_name(node.name)},
               {"grid", node.grid},
               {"block", node.block},
               {"registers", node.registers},
               {"static_shared_bytes", node.static_shared_bytes},
               {"dynamic_shared_bytes", node.dynamic_shared_bytes},
               {"local_bytes", node.local_bytes},
               {"occupancy", occupancy_json(node)}};
  if (node.nanoseconds != 0) json["duration_us"] = 1e-3 * static_cast<double>(node.nanoseconds);
  return json;
}

Evidence device_dispatch(DeviceTiming& timing, std::vector<TimedWorkload> const& workloads) {
  Evidence evidence;
  evidence.name = "dispatch";
  evidence.source = "the nodes of the timed CUDA graphs, read from the driver";
  Json table = Json::array();
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    Json nodes = Json::array();
    std::uint32_t wanted = 1; // of one launch; known after the first answer
    for (std::uint32_t number = 0; number < wanted; ++number) {
      Checked<NodeReply> const node = timing.session().inspect({timing.graph(w), number});
      if (!node) {
        evidence.reason = node.error().message;
        return evidence;
      }
      wanted = std::min(node->nodes / static_cast<std::uint32_t>(std::max(1, timing.timed_launches(w))), most_nodes);
      if (number < wanted) nodes.push_back(launch_json(*node));
    }
    table.push_back({{"workload", workloads[w].workload->id}, {"launches", std::move(nodes)}});
  }
  evidence.available = true;
  evidence.data = {{"declared", false}, {"workloads", std::move(table)}};
  return evidence;
}

} // namespace tik::evaluator
