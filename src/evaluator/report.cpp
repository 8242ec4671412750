#include "src/evaluator/report.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

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

// The keys of one JSON object, each read once: a missing, mistyped or unknown key becomes a sentence that names the place.
// Reading goes on after the first problem with default values; problem() is asked once, at the end.
class Fields {
 public:
  Fields(Json const& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) fail("", "must be an object");
  }

  std::string text(char const* key) {
    Json const* value = find(key);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    fail(key, "must be a string");
    return {};
  }

  bool flag(char const* key) {
    Json const* value = find(key);
    if (value == nullptr) return false;
    if (value->is_boolean()) return value->get<bool>();
    fail(key, "must be true or false");
    return false;
  }

  double number(char const* key) {
    Json const* value = find(key);
    if (value == nullptr) return 0;
    if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
    fail(key, "must be a finite number");
    return 0;
  }

  std::int64_t integer(char const* key) {
    Json const* value = find(key);
    if (value == nullptr) return 0;
    if (value->is_number_integer()) return value->get<std::int64_t>();
    fail(key, "must be a whole number");
    return 0;
  }

  // An object of free content; every number in it must be finite.
  Json object(char const* key) {
    Json const* value = find(key);
    if (value == nullptr) return Json::object();
    if (!value->is_object()) {
      fail(key, "must be an object");
    } else if (!finite(*value)) {
      fail(key, "holds a number that is not finite");
    }
    return *value;
  }

  Json const& array(char const* key) {
    static Json const empty = Json::array();
    Json const* value = find(key);
    if (value == nullptr) return empty;
    if (value->is_array()) return *value;
    fail(key, "must be an array");
    return empty;
  }

  std::vector<double> finite_numbers(char const* key) {
    std::vector<double> values;
    for (Json const& element : array(key)) {
      if (!element.is_number() || !std::isfinite(element.get<double>())) {
        fail(key, "must hold finite numbers only");
        return {};
      }
      values.push_back(element.get<double>());
    }
    return values;
  }

  std::vector<std::string> texts(char const* key) {
    std::vector<std::string> values;
    for (Json const& element : array(key)) {
      if (!element.is_string()) {
        fail(key, "must hold strings only");
        return {};
      }
      values.push_back(element.get<std::string>());
    }
    return values;
  }

  void fail(std::string_view key, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{}{}{}: {}.", place_, key.empty() ? "" : ".", key, what);
  }

  void fail_with(Error const& error) {
    if (problem_.empty()) problem_ = error.message;
  }

  // The first problem found, unknown keys last; empty when there is none.
  std::string problem() {
    if (!json_.is_object() || !problem_.empty()) return problem_;
    for (auto const& item : json_.items()) {
      if (!known_.contains(item.key())) fail(item.key(), "is not a key of this object");
    }
    return problem_;
  }

  std::string const& place() const { return place_; }

 private:
  Json const* find(char const* key) {
    known_.insert(key);
    if (!json_.is_object()) return nullptr;
    auto const found = json_.find(key);
    if (found != json_.end()) return &*found;
    fail(key, "is missing");
    return nullptr;
  }

  static bool finite(Json const& value) {
    if (value.is_number_float()) return std::isfinite(value.get<double>());
    if (value.is_structured()) {
      for (Json const& child : value) {
        if (!finite(child)) return false;
      }
    }
    return true;
  }

  Json const& json_;
  std::string place_;
  std::set<std::string> known_;
  std::string problem_;
};

template <class T>
Result<T> finish(Fields& fields, T value) {
  std::string problem = fields.problem();
  if (!problem.empty()) return input_error(std::move(problem));
  return value;
}

Result<Stage> stage_from(Json const& json, std::string place) {
  Fields fields(json, std::move(place));
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
  return finish(fields, std::move(stage));
}

Result<WorkloadMeasurement> workload_from(Json const& json, std::string place) {
  Fields fields(json, std::move(place));
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
  workload.samples_us = fields.finite_numbers("samples_us");
  workload.incumbent_samples_us = fields.finite_numbers("incumbent_samples_us");
  workload.cache = fields.text("cache");
  return finish(fields, std::move(workload));
}

Result<Evidence> evidence_from(Json const& json, std::string place) {
  Fields fields(json, std::move(place));
  Evidence evidence;
  evidence.name = fields.text("name");
  evidence.available = fields.flag("available");
  evidence.source = fields.text("source");
  evidence.reason = fields.text("reason");
  evidence.data = fields.object("data");
  return finish(fields, std::move(evidence));
}

template <class T, class Read>
std::vector<T> list_from(Fields& fields, char const* key, Read read) {
  std::vector<T> values;
  std::size_t index = 0;
  for (Json const& element : fields.array(key)) {
    Result<T> value = read(element, fmt::format("{}.{}[{}]", fields.place(), key, index++));
    if (!value) {
      fields.fail_with(value.error());
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
  return true;
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
  Fields fields(json, "report");
  Report report;
  std::int64_t const schema = fields.integer("schema");
  if (schema != current_schema) {
    fields.fail("schema",
                fmt::format("is {}, but this program reads schema {}: use the version that wrote it", schema, current_schema));
  }
  report.schema = current_schema;
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
  return finish(fields, std::move(report));
}

} // namespace tik::evaluator
