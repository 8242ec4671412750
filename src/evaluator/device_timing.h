// One implementation timed on a GPU: a worker with every workload captured into a graph of launches on buffers of their own.
#pragma once

#include <memory>

#include "src/evaluator/timed_calls.h"

namespace tik::evaluator {

class DeviceTiming {
 public:
  // Starts a worker, lays out every launch of every workload in its memory, copies all to the device and captures the graphs.
  static Checked<std::unique_ptr<DeviceTiming>> start(StageContext const& context, BuiltImplementation const& implementation,
                                                      std::vector<TimedWorkload> const& workloads, Random& random);

  struct Replay {
    double device_us = 0; // of the timed launches together, by the device's clock
    double excess_us = 0; // how much longer it was seen from outside than that and everything around it
  };
  // Copies what note() named to the device, poisons the outputs, and replays the graph: after a flush of the caches, or after
  // its prelude.
  Checked<Replay> replay(std::size_t workload);
  // What the latest replay wrote for one launch.
  Checked<Outputs> outputs(std::size_t workload, int launch);

  Image& image(std::size_t workload, int launch) { return images_[workload][static_cast<std::size_t>(launch)]; }
  // Remembers that the queries of a launch and these tokens of its cache changed in shared memory.
  void note(std::size_t workload, int launch, Renewed const& renewed);

  Session& session() { return session_; }
  // The number of a workload's graph, for InspectRequest.
  std::uint32_t graph(std::size_t workload) const { return graphs_[workload]; }
  // Launches that are used, the prelude's included; the others were slow enough to do without.
  int launches(std::size_t workload) const { return launches_[workload]; }
  // Launches whose time a replay gives.
  int timed_launches(std::size_t workload) const { return timed_launches_[workload]; }

 private:
  explicit DeviceTiming(Session session) : session_(std::move(session)) {}
  Checked<void> lay_out(TimedWorkload const& workload, Random& random);
  Checked<void> upload(std::size_t workload);
  Checked<void> capture(TimedWorkload const& workload, std::size_t index);

  Session session_;
  Arena arena_{session_};
  std::size_t table_ = 0;                  // where parts of the regions are listed in the input region
  std::vector<std::vector<Image>> images_; // [workload][launch]
  std::vector<std::vector<Extent>> changed_;
  std::vector<std::uint32_t> graphs_;
  std::vector<int> launches_, timed_launches_; // [workload]
};

// The evidence "dispatch": of every workload the kernels of one launch, and what limits their resident blocks.
Evidence device_dispatch(DeviceTiming& timing, std::vector<TimedWorkload> const& workloads);

} // namespace tik::evaluator
