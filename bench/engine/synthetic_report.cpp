#include "bench/engine/synthetic_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace tik::bench {
namespace {

using evaluator::Json;
using evaluator::Outcome;

double noise(std::mt19937_64& random) { return std::normal_distribution<double>(1.0, 0.02)(random); }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// As many lines as a compiler says about one implementation.
Json remarks(std::mt19937_64& random) {
  Json list = Json::array();
  for (int i = 0; i < 40; ++i) {
    bool const vectorized = random() % 3 == 0;
    list.push_back(
        {{"file", i % 2 == 0 ? "full.cpp" : "decode.cpp"},
         {"line", static_cast<int>(random() % 400 + 1)},
         {"vectorized", vectorized},
         {"reason", vectorized ? "loop vectorized using 32 byte vectors" : "not vectorized: no vectype for this statement"}});
  }
  return list;
}

Json instructions(std::mt19937_64& random) {
  Json functions = Json::object();
  for (auto const* name : {"tik_attention_full", "tik_attention_extend", "tik_attention_decode"}) {
    Json histogram = Json::object();
    for (auto const* kind :
         {"scalar_multiply", "packed_multiply", "scalar_add", "packed_add", "fused", "load", "store", "branch", "call"})
      histogram[kind] = static_cast<int>(random() % 500);
    functions[name] = {{"bytes", static_cast<int>(random() % 20000)}, {"histogram", std::move(histogram)}};
  }
  return functions;
}

evaluator::WorkloadMeasurement measurement(spec::Workload const& workload, double root_us, double speed, int rounds,
                                           std::mt19937_64& random) {
  evaluator::WorkloadMeasurement result;
  result.id = workload.id;
  result.entry_point = workload.entry_point();
  result.ratio = speed * noise(random);
  result.latency_us = root_us * result.ratio;
  for (int round = 0; round < rounds; ++round) {
    result.samples_us.push_back(result.latency_us * noise(random));
    result.incumbent_samples_us.push_back(root_us * noise(random));
  }
  result.median_us = median(result.samples_us);
  result.spread_us = 0.02 * result.median_us;
  result.ratio_spread = 0.02;
  result.cache = workload.cache == spec::CacheState::cold ? "cold" : "warm";
  return result;
}

} // namespace

evaluator::Report synthetic_report(spec::Specification const& specification, SyntheticOutcome const& outcome,
                                   std::mt19937_64& random) {
  evaluator::Report report;
  report.evaluator_version = "synthetic";
  report.started_at = "2026-01-31T12:34:56.789Z";
  report.seconds = 3.5;
  report.machine = {{"processor", "synthetic"}, {"processors", 2}, {"kernel", "synthetic"}, {"compiler", "synthetic"}};
  report.protections = {"process-group", "rlimits",           "no-new-privs", "mount-namespace",
                        "pid-namespace", "network-namespace", "seccomp"};
  Json const build = {{"command", {"g++", "-O2", "-shared", "-o", "library.so", "full.cpp", "decode.cpp"}},
                      {"log", std::string(1500, 'x')},
                      {"seconds", 1.8},
                      {"peak_memory_kb", 131136}};
  report.stages.push_back({"build", Outcome::passed, 1.8, "Built in 1.8 s.", build});
  bool failed = false;
  for (auto const* name : {"consistency", "accuracy", "robustness", "measurement", "evidence"}) {
    bool const fails = !outcome.verified && std::string_view(name) == "consistency";
    auto const result = failed ? Outcome::skipped : fails ? Outcome::failed : Outcome::passed;
    Json details = {{"cases", {{"decode", 960}, {"extend", 482}, {"prompt alone", 48}, {"sequence alone", 24}}}};
    report.stages.push_back(
        {name, result, failed ? 0.0 : 0.4, fails ? "Decode parts from full." : "As prescribed.", std::move(details)});
    failed = failed || fails;
  }
  report.evidence.push_back({"compiler", true, "g++ 12", "", {{"remarks", remarks(random)}}});
  report.evidence.push_back({"instructions", true, "objdump 2.40", "", {{"functions", instructions(random)}}});
  report.evidence.push_back({"profiler", false, "", "this machine allows no performance counters", Json::object()});
  if (!outcome.verified) return report;
  double root_us = 300;
  for (auto const& workload : specification.workloads) {
    report.workloads.push_back(measurement(workload, root_us, outcome.speed, specification.measurement.rounds, random));
    root_us *= 1.7;
  }
  return report;
}

} // namespace tik::bench
