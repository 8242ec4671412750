// One measurement of a candidate, beside the incumbent where there is one: every workload laid out on both, timed in the same
// rounds, and the timed calls computed again afterwards.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/evaluator/device_inputs.h"
#include "src/evaluator/device_timing.h"
#include "src/evaluator/gain.h"
#include "src/evaluator/measurement.h"
#include "src/evaluator/timed_calls.h"

namespace tik::evaluator {

// A worker on the CPU with every workload laid out in its memory.
struct HostTiming {
  explicit HostTiming(Session started) : session(std::move(started)) {}
  Session session;
  Arena arena{session};
  std::vector<Image> images;
};

// One implementation under measurement, on the one or the other.
struct Side {
  std::unique_ptr<HostTiming> host;
  std::unique_ptr<DeviceTiming> device;
  std::vector<std::vector<double>> samples_us; // [workload][round]

  Session& session() { return host ? host->session : device->session(); }
};

// What the parent saw of the timed calls of one workload, against what the worker reported.
struct Clocks {
  std::vector<double> reported_us, excess_us;
};

class Measuring {
 public:
  Measuring(StageContext const& context, std::map<std::string, double> const& recorded_us);
  Checked<void> run(BuiltImplementation const& candidate, BuiltImplementation const* incumbent);
  // T as it would be recorded, over that of the incumbent; only beside an incumbent.
  Comparison comparison() const;
  Measured result();

 private:
  Checked<void> add_sides(BuiltImplementation const& candidate, BuiltImplementation const* incumbent);
  Checked<std::unique_ptr<Side>> host_side(BuiltImplementation const& implementation);
  // Both workers start at once, and what their graphs read lies at the same places in the same memory.
  Checked<void> add_device_sides(BuiltImplementation const& candidate, BuiltImplementation const* incumbent);
  // Gives every launch of a workload that is used values that no call before has seen, on all sides.
  void renew_all(std::size_t workload);
  Failure failed_call(std::size_t side, std::size_t workload, Failure failure) const;
  // One call on new values, in the cache state that the workload asks for.
  Checked<Outputs> call(std::size_t side, std::size_t workload);
  // The same for the graph of a workload.
  Checked<DeviceTiming::Replay> replay(std::size_t side, std::size_t workload);
  // What one call, or one replay of its graph, takes.
  Checked<double> warm_up_call(std::size_t side, std::size_t w);
  Checked<void> warm_up();
  Checked<void> measure_round();
  // The median of a round's calls. Warm calls follow one that is not timed.
  Checked<void> sample(std::size_t side, std::size_t w);
  // The median of a round's replays, a launch. In one round, drawn beforehand, a launch drawn afterwards is kept to be computed
  // again.
  Checked<void> sample_graph(std::size_t side, std::size_t w);
  std::vector<double> ratios(std::size_t w) const;
  // Of every round: T of the candidate over T of the incumbent, with the incumbent's recorded latencies.
  std::vector<double> total_ratios() const;
  // Whether more rounds could change what follows from this audit: a gain or a loss is beyond the noise, or the noise is small.
  bool decided() const;
  // A worker that cannot wait or use a second thread is timed by its processor time, which others on the machine do not add to.
  double reported_us(Outputs const& outputs) const;
  // How much longer a call may look from outside than the worker says: two messages, scheduling, and a share for the clocks.
  double allowed_excess_us(std::size_t w) const;
  // Interruptions only ever add to what is seen from outside, so the smaller differences are the honest ones.
  double seen_excess_us(std::size_t w) const;
  // A worker that reports another time than is seen from outside has a clock that lies.
  Checked<void> check_clocks() const;
  WorkloadMeasurement workload_result(std::size_t w) const;
  Json details(std::vector<double> const& totals) const;
  // The GPU's state at the end of every round.
  Json gpu_json() const;
  // Counters of a few calls of each workload, apart from the timed ones.
  Evidence read_counters();

  StageContext const& context_;
  spec::Measurement const& settings_;
  std::map<std::string, double> const& recorded_us_;
  Random random_;
  std::optional<int> processor_;
  bool processor_time_;
  std::optional<DrawnValues> values_; // on a GPU
  std::vector<TimedWorkload> workloads_;
  std::vector<std::unique_ptr<Side>> sides_; // the candidate, and the incumbent
  std::vector<int> repeats_;
  std::vector<int> kept_rounds_; // on a GPU: the round of each workload from which a launch is kept
  std::vector<Clocks> clocks_;
  std::vector<GpuMonitor::State> gpu_states_; // by round
  std::map<std::string, double> seconds_; // of the parts of this stage; drawing and starting workers are parts of laying out,
                                          // renewing and keeping of warming up and rounds
  int verified_ = 0;
};

} // namespace tik::evaluator
