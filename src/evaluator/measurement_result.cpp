// What follows from the rounds of a measurement: whether more are needed, whether the worker's clock lies, and the result.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/evaluator/measurement_rounds.h"
#include "src/evaluator/profiler.h"
#include "src/evaluator/statistics.h"

namespace tik::evaluator {
namespace {

constexpr double precise_enough = 0.002; // of the total ratio: more rounds would not change a decision

Evidence no_counters() {
  Evidence evidence;
  evidence.name = "profiler";
  evidence.source = "Nsight Compute";
  evidence.reason = "No workload was asked to be profiled.";
  return evidence;
}

} // namespace

Comparison Measuring::comparison() const {
  double candidate = 0, incumbent = 0;
  for (std::size_t w = 0; w < workloads_.size(); ++w) {
    double const weight = workloads_[w].workload->weight * recorded_us_.at(workloads_[w].workload->id);
    candidate += weight * median(ratios(w));
    incumbent += weight;
  }
  return {candidate / incumbent, median_uncertainty(total_ratios())};
}

Measured Measuring::result() {
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

std::vector<double> Measuring::ratios(std::size_t w) const {
  std::vector<double> values;
  if (sides_.size() < 2) return values;
  for (std::size_t round = 0; round < sides_[0]->samples_us[w].size(); ++round) {
    values.push_back(sides_[0]->samples_us[w][round] / sides_[1]->samples_us[w][round]);
  }
  return values;
}

std::vector<double> Measuring::total_ratios() const {
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

bool Measuring::decided() const {
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

double Measuring::allowed_excess_us(std::size_t w) const {
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

double Measuring::seen_excess_us(std::size_t w) const {
  std::vector<double> sorted = clocks_[w].excess_us;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 4];
}

Checked<void> Measuring::check_clocks() const {
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

WorkloadMeasurement Measuring::workload_result(std::size_t w) const {
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

Json Measuring::details(std::vector<double> const& totals) const {
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

Json Measuring::gpu_json() const {
  Json clocks = Json::array(), memory_clocks = Json::array(), temperatures = Json::array(), power = Json::array();
  for (GpuMonitor::State const& state : gpu_states_) {
    clocks.push_back(state.sm_clock_mhz);
    memory_clocks.push_back(state.memory_clock_mhz);
    temperatures.push_back(state.temperature_c);
    power.push_back(state.power_w);
  }
  return {{"sm_clock_mhz", clocks}, {"memory_clock_mhz", memory_clocks}, {"temperature_c", temperatures}, {"power_w", power}};
}

Evidence Measuring::read_counters() {
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

} // namespace tik::evaluator
