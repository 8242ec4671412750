// One implementation timed on a GPU: a worker with every workload captured into a graph of launches on buffers of their own.
#pragma once

#include <memory>

#include "src/evaluator/timed_calls.h"

namespace tik::evaluator {

class DeviceTiming {
 public:
  // Starts a worker on inputs (draw_inputs) that it may share with others.
  static Checked<std::unique_ptr<DeviceTiming>> start(StageContext const& context, BuiltImplementation const& implementation,
                                                      std::shared_ptr<SharedMemory> inputs);

  // Lays out every launch of every workload and copies the inputs to the device. Beside another timing on the same inputs every
  // call reads what it reads there.
  Checked<void> lay_out(std::vector<TimedWorkload> const& workloads, DeviceTiming const* beside, Random& random);
  // Captures the graphs.
  Checked<void> capture(std::vector<TimedWorkload> const& workloads);

  struct Replay {
    double device_us = 0; // of the timed launches together, by the device's clock
    double excess_us = 0; // how much longer it was seen from outside than that and everything around it
  };
  // Copies what note() named to the device, poisons the outputs, and replays the graph: after a flush of the caches, or after
  // its prelude.
  Checked<Replay> replay(std::size_t workload);
  // What the latest replay wrote for one launch.
  Checked<Outputs> outputs(std::size_t workload, int launch);

  Image const& image(std::size_t workload, int launch) const { return images_[workload][static_cast<std::size_t>(launch)]; }
  // Remembers that these parts of the inputs changed.
  void note(std::vector<Extent> const& changed) { changed_.insert(changed_.end(), changed.begin(), changed.end()); }

  Session& session() { return session_; }
  // The number of a workload's graph, for InspectRequest.
  std::uint32_t graph(std::size_t workload) const { return graphs_[workload]; }
  // Launches that are used, the prelude's included; the others were slow enough to do without.
  int launches(std::size_t workload) const { return launches_[workload]; }
  // Launches whose time a replay gives.
  int timed_launches(std::size_t workload) const { return timed_launches_[workload]; }

 private:
  DeviceTiming(Session session, MemoryNeed const& need)
      : session_(std::move(session)), arena_(session_, need.value_bytes, need.result_bytes) {}
  Checked<void> place(TimedWorkload const& workload, std::vector<Image> const* beside, Random& random);
  Checked<void> upload_all();
  Checked<void> capture_one(TimedWorkload const& workload, std::size_t index);
  // Copies parts of the inputs to the device, and fills parts of the outputs there.
  Checked<void> upload(std::vector<Extent> copied, std::vector<Extent> const& filled, std::uint16_t filling);

  Session session_;
  Arena arena_;
  std::size_t table_ = 0;                  // where parts of the regions are listed in the input region
  std::vector<std::vector<Image>> images_; // [workload][launch]
  std::vector<Extent> changed_;
  std::vector<std::uint32_t> graphs_;
  std::vector<int> launches_, timed_launches_; // [workload]
};

// The evidence "dispatch": of every workload the kernels of one launch, and what limits their resident blocks.
Evidence device_dispatch(DeviceTiming& timing, std::vector<TimedWorkload> const& workloads);

} // namespace tik::evaluator
