// The report of one audit: what the evaluator found out about one source tree under one specification. Plain data, JSON in and
// out.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/spec/specification.h"

namespace tik::evaluator {

using Json = nlohmann::ordered_json;

enum class Outcome { passed, failed, skipped };
std::string_view to_string(Outcome outcome);

// build, consistency, accuracy, robustness, measurement, evidence: in this order, later ones skipped when one fails.
struct Stage {
  std::string name;
  Outcome outcome = Outcome::skipped;
  double seconds = 0;
  std::string message; // a sentence: why it failed or was skipped, or a summary
  Json details =
      Json::object(); // log, resource usage, cases by kind, first mismatch (case, token, head, index, both bit patterns)
};

struct WorkloadMeasurement {
  std::string id;
  spec::EntryPoint entry_point;
  double latency_us =
      0; // what enters T. Without incumbent: the median of `samples_us`. With: the incumbent's recorded latency
         // times the median ratio of candidate to incumbent in the same rounds, so drift of the machine cancels.
  double median_us = 0, spread_us = 0; // of samples_us; spread: median absolute deviation
  double ratio = 1, ratio_spread = 0;  // candidate / incumbent in the same rounds
  std::vector<double> samples_us, incumbent_samples_us;
  std::string cache; // "cold" or "warm"
};

// A kind of evidence is either there, with where it comes from, or unavailable, with the reason.
struct Evidence {
  std::string name; // "dispatch", "compiler", "instructions", "profiler"
  bool available = false;
  std::string source; // tool and version it was read from
  std::string reason; // why it is unavailable
  Json data = Json::object();
};

struct Report {
  int schema = 1;
  std::string specification_sha256; // the seal
  std::string source_sha256;        // hash over names and contents of the source tree
  std::string incumbent_sha256;     // of the tree it was interleaved with; empty without
  std::string evaluator_version;
  std::string started_at; // UTC, ISO 8601
  double seconds = 0;
  Json machine = Json::object();        // cpu model, cores, kernel, compiler
  std::vector<std::string> protections; // the layers that were on: "namespaces", "seccomp", "rlimits", ...
  std::vector<Stage> stages;
  std::vector<WorkloadMeasurement> workloads;
  std::vector<Evidence> evidence;

  Stage const* find_stage(std::string_view name) const;
  // Build and every prescribed check passed (paper: "verified"), and no timed call was found out: a measurement fails only by
  // the candidate's fault.
  bool verified() const;
  // Every workload of the specification has a latency.
  bool measured(spec::Specification const& specification) const;
  // T(I) = sum of weight * latency, given all latencies.
  std::optional<double> total_us(spec::Specification const& specification) const;
};

Json to_json(Report const& report);
// Refuses unknown schema versions, missing or mistyped fields, non-finite numbers.
Result<Report> report_from_json(Json const& json);

} // namespace tik::evaluator
