#include "src/evaluator/report.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "src/base/json.h"

namespace tik::evaluator {
namespace {

constexpr int current_schema = 1;

Json numbers(std::vector<double> const& values) {
  Json array = Json::array();
  for (double const value : values) array.push_back(value);
  return array;
}

Json to_json(Stage const& stage) {
  return {{"name", stage.name},
          {"outcome", to_string(stage.outcome)},
          {"seconds", stage.seconds},
          {"message", stage.message},
          {"details", stage.details}};
}

Json to_json(WorkloadMeasurement const& workload) {
  return {{"id", workload.id},
          {"entry_point", spec::to_string(workload.entry_point)},
          {"latency_us", workload.latency_us},
          {"median_us", workload.median_us},
          {"spread_us", workload.spread_us},
          {"ratio", workload.ratio},
          {"ratio_spread", workload.ratio_spread},
          {"samples_us", numbers(workload.samples_us)},
          {"incumbent_samples_us", numbers(workload.incumbent_samples_us)},
          {"cache", workload.cache}};
}

Json to_json(Evidence const& evidence) {
  return {{"name", evidence.name},
          {"available", evidence.available},
          {"source", evidence.source},
          {"reason", evidence.reason},
          {"data", evidence.data}};
}

std::vector<double> numbers_from(JsonFields& fields, char const* key) {
  std::vector<double> values;
  for (Json const& element : fields.array(key)) {
    if (!element.is_number() || !std::isfinite(element.get<double>())) {
      fields.fail(key, "must hold finite numbers only");
      return {};
    }
    values.push_back(element.get<double>());
  }
  return values;
}

Result<Stage> stage_from(Json const& json, std::string place) {
  JsonFields fields(json, std::move(place));
  Stage stage;
  stage.name = fields.text("name");
  std::string const outcome = fields.text("outcome");
  bool known = false;
  for (Outcome const candidate : {Outcome::passed, Outcome::failed, Outcome::skipped}) {
    if (outcome == to_string(candidate)) {
      stage.outcome = candidate;
      known = true;
    }
  }
  if (!known) fields.fail("outcome", "must be \"passed\", \"failed\" or \"skipped\"");
  stage.seconds = fields.number("seconds");
  stage.message = fields.text("message");
  stage.details = fields.object("details");
  return fields.finish(std::move(stage));
}

Result<WorkloadMeasurement> workload_from(Json const& json, std::string place) {
  JsonFields fields(json, std::move(place));
  WorkloadMeasurement workload;
  workload.id = fields.text("id");
  std::string const entry_point = fields.text("entry_point");
  workload.entry_point = entry_point == "decode" ? spec::EntryPoint::decode : spec::EntryPoint::full;
  if (entry_point != "full" && entry_point != "decode") fields.fail("entry_point", "must be \"full\" or \"decode\"");
  workload.latency_us = fields.number("latency_us");
  workload.median_us = fields.number("median_us");
  workload.spread_us = fields.number("spread_us");
  workload.ratio = fields.number("ratio");
  workload.ratio_spread = fields.number("ratio_spread");
  workload.samples_us = numbers_from(fields, "samples_us");
  workload.incumbent_samples_us = numbers_from(fields, "incumbent_samples_us");
  workload.cache = fields.text("cache");
  return fields.finish(std::move(workload));
}

Result<Evidence> evidence_from(Json const& json, std::string place) {
  JsonFields fields(json, std::move(place));
  Evidence evidence;
  evidence.name = fields.text("name");
  evidence.available = fields.flag("available");
  evidence.source = fields.text("source");
  evidence.reason = fields.text("reason");
  evidence.data = fields.object("data");
  return fields.finish(std::move(evidence));
}

template <class T, class Read>
std::vector<T> list_from(JsonFields& fields, char const* key, Read read) {
  std::vector<T> values;
  std::size_t index = 0;
  for (Json const& element : fields.array(key)) {
    Result<T> value = read(element, fmt::format("{}.{}[{}]", fields.place(), key, index++));
    if (!value) {
      fields.fail(value.error());
      return {};
    }
    values.push_back(std::move(*value));
  }
  return values;
}

template <class T>
Json list_to(std::vector<T> const& values) {
  Json array = Json::array();
  for (T const& value : values) array.push_back(to_json(value));
  return array;
}

} // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return "passed";
    case Outcome::failed:
      return "failed";
    case Outcome::skipped:
      return "skipped";
  }
  return "skipped";
}

Stage const* Report::find_stage(std::string_view name) const {
  for (Stage const& stage : stages) {
    if (stage.name == name) return &stage;
  }
  return nullptr;
}

bool Report::verified() const {
  for (std::string_view const name : {"build", "consistency", "accuracy", "robustness"}) {
    Stage const* stage = find_stage(name);
    if (stage == nullptr || stage->outcome != Outcome::passed) return false;
  }
  Stage const* const measurement = find_stage("measurement");
  return measurement == nullptr || measurement->outcome != Outcome::failed;
}

bool Report::measured(spec::Specification const& specification) const { return total_us(specification).has_value(); }

std::optional<double> Report::total_us(spec::Specification const& specification) const {
  double total = 0;
  for (spec::Workload const& asked : specification.workloads) {
    WorkloadMeasurement const* found = nullptr;
    for (WorkloadMeasurement const& workload : workloads) {
      if (workload.id == asked.id) found = &workload;
    }
    if (found == nullptr || !std::isfinite(found->latency_us) || found->latency_us <= 0) return std::nullopt;
    total += asked.weight * found->latency_us;
  }
  return total;
}

Json to_json(Report const& report) {
  return {{"schema", report.schema},
          {"specification_sha256", report.specification_sha256},
          {"source_sha256", report.source_sha256},
          {"incumbent_sha256", report.incumbent_sha256},
          {"evaluator_version", report.evaluator_version},
          {"started_at", report.started_at},
          {"seconds", report.seconds},
          {"machine", report.machine},
          {"protections", report.protections},
          {"stages", list_to(report.stages)},
          {"workloads", list_to(report.workloads)},
          {"evidence", list_to(report.evidence)}};
}

Result<Report> report_from_json(Json const& json) {
  JsonFields fields(json, "report");
  Report report;
  // Another schema may have other keys, so it is looked at before them.
  if (json.is_object() && json.contains("schema") && json["schema"] != current_schema) {
    return input_error(fmt::format("report.schema is {}, but this program reads schema {}: use the version that wrote it.",
                                   dump_json(json["schema"]), current_schema));
  }
  report.schema = static_cast<int>(fields.integer("schema", current_schema, current_schema));
  report.specification_sha256 = fields.text("specification_sha256");
  report.source_sha256 = fields.text("source_sha256");
  report.incumbent_sha256 = fields.text("incumbent_sha256");
  report.evaluator_version = fields.text("evaluator_version");
  report.started_at = fields.text("started_at");
  report.seconds = fields.number("seconds");
  report.machine = fields.object("machine");
  report.protections = fields.texts("protections");
  report.stages = list_from<Stage>(fields, "stages", stage_from);
  report.workloads = list_from<WorkloadMeasurement>(fields, "workloads", workload_from);
  report.evidence = list_from<Evidence>(fields, "evidence", evidence_from);
  return fields.finish(std::move(report));
}

} // namespace tik::evaluator
