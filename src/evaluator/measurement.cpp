#include "src/evaluator/measurement.h"

#include <fmt/format.h>
#include <sched.h>

#include "src/evaluator/gain.h"
#include "src/evaluator/measurement_rounds.h"

namespace tik::evaluator {
namespace {

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
