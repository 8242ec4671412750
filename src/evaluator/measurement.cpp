#include "src/evaluator/measurement.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <map>
#include <memory>

#include "src/evaluator/device_timing.h"
#include "src/evaluator/gain.h"
#include "src/evaluator/profiler.h"
#include "src/evaluator/statistics.h"
#include "src/evaluator/timed_calls.h"

namespace tik::evaluator {
namespace {

constexpr int most_repeats = 64;
constexpr double precise_enough = 0.002; // of the total ratio: more rounds would not change a decision

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
  Image& image(std::size_t workload, int launch) { return host ? host->images[workload] : device->image(workload, launch); }
};

// What the parent saw of the timed calls of one workload, against what the worker reported.
struct Clocks {
  std::vector<double> reported_us, excess_us;
};

class Measuring {
 public:
  Measuring(StageContext const& context, std::map<std::string, double> const& recorded_us)
      : context_(context),
        settings_(context.specification.measurement),
        recorded_us_(recorded_us),
        random_(context.seed ^ 0x6d656173757265),
        processor_(settings_.pin_cpu ? measuring_processor() : std::nullopt),
        processor_time_(context.layers.system_call_filter) {
    draw_workloads();
    for (std::size_t w = 0; w < workloads_.size(); ++w) kept_rounds_.push_back(random_.between(0, settings_.rounds - 1));
    clocks_.resize(workloads_.size());
    repeats_.assign(workloads_.size(), 1);
  }

  Checked<void> run(BuiltImplementation const& candidate, BuiltImplementation const* incumbent) {
    Clock::time_point const begin = Clock::now();
    if (auto made = add_sides(candidate, incumbent); !made) return made;
    seconds_["lay out"] = seconds_since(begin);
    Clock::time_point const laid_out = Clock::now();
    if (auto warmed = warm_up(); !warmed) return warmed;
    int const most = std::max(settings_.rounds, settings_.max_rounds);
    for (int round = 0; round < most; ++round) {
      if (auto measured = measure_round(); !measured) return measured;
      if (context_.watch != nullptr) gpu_states_.push_back(context_.watch->monitor.state());
      context_.report_progress(static_cast<double>(round + 1) / most);
      if (round + 1 >= settings_.rounds && decided()) break;
    }
    seconds_["rounds"] = seconds_since(laid_out);
    if (auto checked = check_clocks(); !checked) return checked;
    Clock::time_point const measured = Clock::now();
    Checked<int> const verified = verify_timed_calls(context_, candidate, workloads_);
    if (!verified) return tl::unexpected(verified.error());
    verified_ = *verified;
    seconds_["compute again"] = seconds_since(measured);
    return {};
  }

  // T as it would be recorded, over that of the incumbent; only beside an incumbent.
  Comparison comparison() const {
    double candidate = 0, incumbent = 0;
    for (std::size_t w = 0; w < workloads_.size(); ++w) {
      double const weight = workloads_[w].workload->weight * recorded_us_.at(workloads_[w].workload->id);
      candidate += weight * median(ratios(w));
      incumbent += weight;
    }
    return {candidate / incumbent, median_uncertainty(total_ratios())};
  }

  Measured result() {
    Measured measured;
    for (std::size_t w = 0; w < workloads_.size(); ++w) measured.workloads.push_back(workload_result(w));
    if (context_.gpu()) {
      measured.dispatch = device_dispatch(*sides_[0]->device, workloads_);
      measured.counters = no_counters();
    } else {
      measured.counters = read_counters();
    }
    std::vector<double> const totals = total_ratios();
    std::string const against =
        totals.empty() ? ""
                       : fmt::format(", total {:.4f} of the incumbent's +- {:.4f}", median(totals), median_uncertainty(totals));
    measured.text.message =
        fmt::format("{} workloads in {} rounds{}.", workloads_.size(), sides_[0]->samples_us[0].size(), against);
    measured.text.details = details(totals);
    return measured;
  }

 private:
  // Laid out side by side on a GPU, where it is the parent's work.
  Checked<void> add_sides(BuiltImplementation const& candidate, BuiltImplementation const* incumbent) {
    using Made = Checked<std::unique_ptr<Side>>;
    std::launch const way = context_.gpu() ? std::launch::async : std::launch::deferred;
    auto const make = [this](BuiltImplementation const& implementation, std::uint64_t seed) {
      Random random(seed);
      return make_side(implementation, random);
    };
    std::future<Made> first = std::async(way, make, std::cref(candidate), random_.next()), second;
    if (incumbent != nullptr) second = std::async(way, make, std::cref(*incumbent), random_.next());
    Made made = first.get();
    if (!made) return tl::unexpected(std::move(made.error()));
    sides_.push_back(std::move(*made));
    if (incumbent == nullptr) return {};
    Made other = second.get();
    if (!other) return incumbent_failed(other.error());
    sides_.push_back(std::move(*other));
    return {};
  }

  Checked<std::unique_ptr<Side>> make_side(BuiltImplementation const& implementation, Random& random) const {
    auto side = std::make_unique<Side>();
    side->samples_us.resize(workloads_.size());
    if (context_.gpu()) {
      auto device = DeviceTiming::start(context_, implementation, workloads_, random);
      if (!device) return tl::unexpected(std::move(device.error()));
      side->device = std::move(*device);
      return side;
    }
    Checked<Session> session = start_session(context_, implementation, WorkerUse::timing, processor_);
    if (!session) return tl::unexpected(std::move(session.error()));
    side->host = std::make_unique<HostTiming>(std::move(*session));
    for (TimedWorkload const& workload : workloads_) {
      Checked<Image> image = Image::place(side->host->arena, workload.dataset, workload.shapes[0], random);
      if (!image) return tl::unexpected(std::move(image.error()));
      side->host->images.push_back(std::move(*image));
    }
    return side;
  }

  static tl::unexpected<Failure> incumbent_failed(Failure const& failure) {
    if (failure.error) return tl::unexpected(failure);
    return machine_failure(
        {ErrorKind::machine, "The incumbent, which was verified before, failed under measurement: " + failure.message});
  }

  static double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

  // Every workload from a stream of random numbers of its own. The gigabytes of a GPU's workloads are drawn side by side.
  void draw_workloads() {
    Clock::time_point const begin = Clock::now();
    std::vector<std::future<TimedWorkload>> drawn;
    for (spec::Workload const& workload : context_.specification.workloads) {
      drawn.push_back(
          std::async(context_.gpu() ? std::launch::async : std::launch::deferred, [this, &workload, seed = random_.next()] {
            Random random(seed);
            return prepare_workload(workload, context_.specification.shape, context_.gpu(), random);
          }));
    }
    for (std::future<TimedWorkload>& each : drawn) workloads_.push_back(each.get());
    seconds_["draw"] = seconds_since(begin);
  }

  // Gives every launch of a workload that is used values that no call before has seen, on all sides.
  void renew_all(std::size_t workload) {
    int launches = workloads_[workload].launches.count;
    if (context_.gpu()) {
      launches = 0;
      for (auto const& each : sides_) launches = std::max(launches, each->device->launches(workload));
    }
    for (int launch = 0; launch < launches; ++launch) {
      std::vector<Image*> images;
      for (auto const& each : sides_) images.push_back(&each->image(workload, launch));
      Renewed const renewed = renew(workloads_[workload], launch, images, random_);
      for (auto const& each : sides_) {
        if (each->device) each->device->note(workload, launch, renewed);
      }
    }
  }

  Failure failed_call(std::size_t side, std::size_t workload, Failure failure) const {
    if (side != 0) return incumbent_failed(failure).value();
    if (!failure.error)
      failure.message = fmt::format("In a call of {}: {}", workloads_[workload].workload->id, failure.message);
    return failure;
  }

  // One call on new values, in the cache state that the workload asks for.
  Checked<Outputs> call(std::size_t side, std::size_t workload) {
    renew_all(workload);
    Image& image = sides_[side]->image(workload, 0);
    if (workloads_[workload].workload->cache == spec::CacheState::cold) image.evict();
    Checked<Outputs> outputs = image.run();
    if (!outputs) return tl::unexpected(failed_call(side, workload, outputs.error()));
    return outputs;
  }

  // The same for the graph of a workload.
  Checked<DeviceTiming::Replay> replay(std::size_t side, std::size_t workload) {
    renew_all(workload);
    Checked<DeviceTiming::Replay> replayed = sides_[side]->device->replay(workload);
    if (!replayed) return tl::unexpected(failed_call(side, workload, replayed.error()));
    return replayed;
  }

  // What one call, or one replay of its graph, takes.
  Checked<double> warm_up_call(std::size_t side, std::size_t w) {
    if (sides_[side]->device) {
      Checked<DeviceTiming::Replay> const replayed = replay(side, w);
      if (!replayed) return tl::unexpected(replayed.error());
      return replayed->device_us;
    }
    Checked<Outputs> const outputs = call(side, w);
    if (!outputs) return tl::unexpected(outputs.error());
    return reported_us(*outputs);
  }

  Checked<void> warm_up() {
    for (std::size_t w = 0; w < workloads_.size(); ++w) {
      double longest = 0;
      for (std::size_t side = 0; side < sides_.size(); ++side) {
        for (int i = 0; i < std::max(1, settings_.warmup); ++i) {
          Checked<double> const time = warm_up_call(side, w);
          if (!time) return tl::unexpected(time.error());
          if (i + 1 == std::max(1, settings_.warmup)) longest = std::max(longest, *time);
        }
      }
      double const wanted = std::ceil(settings_.min_round_us / std::max(longest, 1.0));
      repeats_[w] = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(most_repeats)));
    }
    return {};
  }

  Checked<void> measure_round() {
    std::vector<std::size_t> order(workloads_.size()), sides(sides_.size());
    for (std::size_t w = 0; w < order.size(); ++w) order[w] = w;
    for (std::size_t s = 0; s < sides.size(); ++s) sides[s] = s;
    random_.shuffle(order);
    for (std::size_t const w : order) {
      random_.shuffle(sides);
      for (std::size_t const side : sides) {
        if (auto sampled = context_.gpu() ? sample_graph(side, w) : sample(side, w); !sampled) return sampled;
      }
    }
    return {};
  }

  // The median of a round's calls. Warm calls follow one that is not timed.
  Checked<void> sample(std::size_t side, std::size_t w) {
    bool const warm = workloads_[w].workload->cache == spec::CacheState::warm;
    std::vector<double> times;
    for (int i = warm ? -1 : 0; i < repeats_[w]; ++i) {
      Checked<Outputs> outputs = call(side, w);
      if (!outputs) return tl::unexpected(std::move(outputs.error()));
      if (i < 0) continue;
      double const time = reported_us(*outputs);
      times.push_back(time);
      if (side != 0) continue;
      clocks_[w].reported_us.push_back(time);
      clocks_[w].excess_us.push_back((processor_time_ ? outputs->cpu_us : outputs->outside_us) - time);
      keep(workloads_[w], std::move(*outputs), random_);
    }
    sides_[side]->samples_us[w].push_back(std::max(median(std::move(times)), 1e-3));
    return {};
  }

  // The median of a round's replays, a launch. In one round, drawn beforehand, a launch drawn afterwards is kept to be computed
  // again.
  Checked<void> sample_graph(std::size_t side, std::size_t w) {
    DeviceTiming& device = *sides_[side]->device;
    std::vector<double> times;
    for (int i = 0; i < repeats_[w]; ++i) {
      Checked<DeviceTiming::Replay> const replayed = replay(side, w);
      if (!replayed) return tl::unexpected(replayed.error());
      times.push_back(replayed->device_us / device.timed_launches(w));
      if (side != 0) continue;
      clocks_[w].reported_us.push_back(replayed->device_us);
      clocks_[w].excess_us.push_back(replayed->excess_us);
    }
    bool const kept = side == 0 && static_cast<int>(sides_[0]->samples_us[w].size()) == kept_rounds_[w];
    sides_[side]->samples_us[w].push_back(std::max(median(std::move(times)), 1e-3));
    if (!kept) return {};
    int const prelude = workloads_[w].launches.prelude;
    int const launch = prelude + random_.between(0, device.timed_launches(w) - 1);
    Checked<Outputs> outputs = device.outputs(w, launch);
    if (!outputs) return tl::unexpected(failed_call(side, w, outputs.error()));
    keep_launch(workloads_[w], launch, std::move(*outputs));
    return {};
  }

  std::vector<double> ratios(std::size_t w) const {
    std::vector<double> values;
    if (sides_.size() < 2) return values;
    for (std::size_t round = 0; round < sides_[0]->samples_us[w].size(); ++round) {
      values.push_back(sides_[0]->samples_us[w][round] / sides_[1]->samples_us[w][round]);
    }
    return values;
  }

  // Of every round: T of the candidate over T of the incumbent, with the incumbent's recorded latencies.
  std::vector<double> total_ratios() const {
    std::vector<double> totals;
    if (sides_.size() < 2) return totals;
    for (std::size_t round = 0; round < sides_[0]->samples_us[0].size(); ++round) {
      double candidate = 0, incumbent = 0;
      for (std::size_t w = 0; w < workloads_.size(); ++w) {
        double const weight = workloads_[w].workload->weight * recorded_us_.at(workloads_[w].workload->id);
        candidate += weight * sides_[0]->samples_us[w][round] / sides_[1]->samples_us[w][round];
        incumbent += weight;
      }
      if (incumbent > 0) totals.push_back(candidate / incumbent);
    }
    return totals;
  }

  // Whether more rounds could change what follows from this audit: a gain or a loss is beyond the noise, or the noise is small.
  bool decided() const {
    std::vector<double> const totals = total_ratios();
    if (totals.empty()) {
      for (std::vector<double> const& samples : sides_[0]->samples_us) {
        if (median_uncertainty(samples) > 0.02 * median(samples)) return false;
      }
      return true;
    }
    double const uncertainty = median_uncertainty(totals);
    return uncertainty < precise_enough || std::abs(median(totals) - 1) > uncertainty;
  }

  // A worker that cannot wait or use a second thread is timed by its processor time, which others on the machine do not add to.
  double reported_us(Outputs const& outputs) const {
    return processor_time_ ? outputs.reported_cpu_us : outputs.reported_wall_us;
  }

  // How much longer a call may look from outside than the worker says: two messages, scheduling, and a share for the clocks.
  double allowed_excess_us(std::size_t w) const {
    RoundTrip const& trip = sides_[0]->session().round_trip();
    double const reported = median(clocks_[w].reported_us);
    if (context_.gpu()) {
      // A prelude takes the place of the flush that the round trip holds, and is one launch long.
      double const prelude = workloads_[w].launches.prelude * 2 * reported / sides_[0]->device->timed_launches(w);
      return 30 + 4 * trip.outside_us + 0.03 * reported + prelude;
    }
    double const messages = processor_time_ ? 3 * trip.cpu_us : 4 * trip.outside_us;
    return 30 + messages + 0.05 * reported;
  }

  // Interruptions only ever add to what is seen from outside, so the smaller differences are the honest ones.
  double seen_excess_us(std::size_t w) const {
    std::vector<double> sorted = clocks_[w].excess_us;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 4];
  }

  // A worker that reports another time than is seen from outside has a clock that lies.
  Checked<void> check_clocks() const {
    for (std::size_t w = 0; w < workloads_.size(); ++w) {
      std::string const& id = workloads_[w].workload->id;
      double const excess = seen_excess_us(w), reported = median(clocks_[w].reported_us);
      if (excess < -5 - 0.02 * reported - (context_.gpu() ? sides_[0]->session().round_trip().replay_us : 0)) {
        return candidate_failure(fmt::format(
            "The worker reported {:.1f} us for {}, {:.1f} us more than was seen from outside it.", reported, id, -excess));
      }
      if (excess > allowed_excess_us(w)) {
        return candidate_failure(fmt::format(
            "The worker reported {:.1f} us for {}, but {:.1f} us more were seen from outside it.", reported, id, excess));
      }
    }
    return {};
  }

  WorkloadMeasurement workload_result(std::size_t w) const {
    spec::Workload const& workload = *workloads_[w].workload;
    WorkloadMeasurement result;
    result.id = workload.id;
    result.entry_point = workload.entry_point();
    result.samples_us = sides_[0]->samples_us[w];
    result.median_us = median(result.samples_us);
    result.spread_us = spread(result.samples_us);
    result.latency_us = result.median_us;
    result.cache = workload.cache == spec::CacheState::cold ? "cold" : "warm";
    if (sides_.size() < 2) return result;
    std::vector<double> const values = ratios(w);
    result.incumbent_samples_us = sides_[1]->samples_us[w];
    result.ratio = median(values);
    result.ratio_spread = spread(values);
    result.latency_us = recorded_us_.at(workload.id) * result.ratio;
    return result;
  }

  Json details(std::vector<double> const& totals) const {
    Json clocks = Json::array();
    for (std::size_t w = 0; w < workloads_.size(); ++w) {
      clocks.push_back({{"workload", workloads_[w].workload->id},
                        {"calls_a_round", repeats_[w]},
                        {"launches_a_call", context_.gpu() ? sides_[0]->device->timed_launches(w) : 1},
                        {"caches", workloads_[w].launches.caches},
                        {"excess_us", seen_excess_us(w)},
                        {"allowed_excess_us", allowed_excess_us(w)}});
    }
    Json json = {{"rounds", sides_[0]->samples_us[0].size()},
                 {"interleaved", sides_.size() > 1},
                 {"clock", context_.gpu()    ? "events of the device around a CUDA graph"
                           : processor_time_ ? "processor time of the one thread"
                                             : "wall clock"},
                 {"seed", context_.seed},
                 {"timed_calls_verified", verified_},
                 {"seconds", seconds_},
                 {"clocks", clocks}};
    if (processor_) json["processor"] = *processor_;
    if (!gpu_states_.empty()) json["gpu"] = gpu_json();
    if (!totals.empty()) {
      json["total_ratio"] = median(totals);
      json["total_ratio_uncertainty"] = median_uncertainty(totals);
    }
    return json;
  }

  // The GPU's state at the end of every round.
  Json gpu_json() const {
    Json clocks = Json::array(), memory_clocks = Json::array(), temperatures = Json::array(), power = Json::array();
    for (GpuMonitor::State const& state : gpu_states_) {
      clocks.push_back(state.sm_clock_mhz);
      memory_clocks.push_back(state.memory_clock_mhz);
      temperatures.push_back(state.temperature_c);
      power.push_back(state.power_w);
    }
    return {{"sm_clock_mhz", clocks}, {"memory_clock_mhz", memory_clocks}, {"temperature_c", temperatures}, {"power_w", power}};
  }

  static Evidence no_counters() {
    Evidence evidence;
    evidence.name = "profiler";
    evidence.source = "Nsight Compute";
    evidence.reason = "No workload was asked to be profiled.";
    return evidence;
  }

  // Counters of a few calls of each workload, apart from the timed ones.
  Evidence read_counters() {
    Evidence evidence;
    evidence.name = "profiler";
    evidence.source = "perf_event_open, user mode of the worker";
    Result<HardwareCounters> counters = HardwareCounters::open(sides_[0]->session().process());
    if (!counters) {
      evidence.reason = counters.error().message;
      return evidence;
    }
    Json table = Json::array();
    constexpr int calls = 3;
    for (std::size_t w = 0; w < workloads_.size(); ++w) {
      counters->start();
      for (int i = 0; i < calls; ++i) {
        if (!call(0, w)) {
          evidence.reason = "The worker ended while its counters were read.";
          return evidence;
        }
      }
      HardwareCounters::Values const values = counters->stop();
      table.push_back({{"workload", workloads_[w].workload->id},
                       {"cycles", values.cycles / calls},
                       {"instructions", values.instructions / calls},
                       {"cache_references", values.cache_references / calls},
                       {"cache_misses", values.cache_misses / calls},
                       {"branch_misses", values.branch_misses / calls}});
    }
    evidence.available = true;
    evidence.data = {{"workloads", table}};
    return evidence;
  }

  StageContext const& context_;
  spec::Measurement const& settings_;
  std::map<std::string, double> const& recorded_us_;
  Random random_;
  std::optional<int> processor_;
  bool processor_time_;
  std::vector<TimedWorkload> workloads_;
  std::vector<std::unique_ptr<Side>> sides_; // the candidate, and the incumbent
  std::vector<int> repeats_;
  std::vector<int> kept_rounds_; // on a GPU: the round of each workload from which a launch is kept
  std::vector<Clocks> clocks_;
  std::vector<GpuMonitor::State> gpu_states_; // by round
  std::map<std::string, double> seconds_;     // of the parts of this stage
  int verified_ = 0;
};

// One of several measurements, for the report's details. The samples of the one that counts are the report's own.
Json summary(Measured const& measured, Comparison const& compared, bool counts) {
  Json workloads = Json::array();
  for (WorkloadMeasurement const& workload : measured.workloads) {
    Json entry = {{"workload", workload.id}, {"ratio", workload.ratio}};
    if (!counts) {
      entry["samples_us"] = workload.samples_us;
      entry["incumbent_samples_us"] = workload.incumbent_samples_us;
    }
    workloads.push_back(std::move(entry));
  }
  return {{"total_ratio", compared.total_ratio},
          {"total_ratio_uncertainty", compared.uncertainty},
          {"seed", measured.text.details.at("seed")},
          {"rounds", measured.text.details.at("rounds")},
          {"workloads", workloads}};
}

// The measurement that counts, with all of them in its details.
Measured counted(std::vector<Measured> measured, std::vector<Comparison> const& compared) {
  std::size_t const index = counted_measurement(compared);
  Json all = Json::array();
  for (std::size_t i = 0; i < measured.size(); ++i) all.push_back(summary(measured[i], compared[i], i == index));
  Measured result = std::move(measured[index]);
  if (all.size() > 1) {
    result.text.message +=
        fmt::format(" A gain within the noise was measured again: the smallest gain of {} measurements counts.", all.size());
  }
  result.text.details["counted_measurement"] = index;
  result.text.details["measurements"] = std::move(all);
  return result;
}

} // namespace

Checked<Measured> measure_workloads(StageContext const& context, BuiltImplementation const& candidate,
                                    BuiltImplementation const* incumbent, std::map<std::string, double> const& recorded_us) {
  std::vector<Measured> measured;
  std::vector<Comparison> compared;
  do {
    StageContext fresh = context;
    fresh.seed += measured.size() * 0x9e3779b97f4a7c15; // other inputs at other places
    Measuring measuring(fresh, recorded_us);
    if (auto done = measuring.run(candidate, incumbent); !done) return tl::unexpected(done.error());
    measured.push_back(measuring.result());
    if (incumbent == nullptr) return std::move(measured.front());
    compared.push_back(measuring.comparison());
  } while (measured_again(compared, context.specification.measurement));
  return counted(std::move(measured), compared);
}

std::optional<int> measuring_processor() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2) return std::nullopt;
  for (std::size_t processor = CPU_SETSIZE; processor-- > 0;) {
    if (CPU_ISSET(processor, &set)) return static_cast<int>(processor);
  }
  return std::nullopt;
}

} // namespace tik::evaluator
