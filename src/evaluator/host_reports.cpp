#include "src/evaluator/host_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/base/files.h"
#include "src/base/json.h"
#include "src/base/sha256.h"
#include "src/evaluator/statistics.h"
#include "src/evaluator/version.h"

namespace tik::evaluator {
namespace {

constexpr std::string_view format_name = "tik-reports";
constexpr int reports_schema = 1;
constexpr char index_file[] = "index.json";

Json summary(Bundle const& bundle, HostReport const& entry) {
  std::optional<double> const total_us = entry.report.total_us(bundle.specification);
  return {{"id", entry.id},
          {"source_sha256", entry.report.source_sha256},
          {"verified", entry.report.verified()},
          {"total_us", total_us ? Json(*total_us) : Json(nullptr)}};
}

// What surrounds the entries, in the index and in the single document.
Json envelope(Bundle const& bundle, std::size_t reports, Json entries) {
  return {{"format", format_name},
          {"schema", reports_schema},
          {"evaluator_version", evaluator_version},
          {"seal", bundle.seal},
          {"incumbent", bundle.incumbent ? Json(bundle.incumbent->id) : Json(nullptr)},
          {"complete", reports == bundle.candidates.size()},
          {"reports", std::move(entries)}};
}

// Reads the envelope; `load` turns one entry's fields into its report.
template <class Load>
Result<std::vector<HostReport>> read_entries(Json const& json, std::string const& place, Load load) {
  if (!json.is_object() || !json.contains("format") || json["format"] != format_name)
    return input_error(place + ": these are no reports of `tik evaluate --bundle`.");
  if (!json.contains("schema") || json["schema"] != reports_schema)
    return input_error(fmt::format("{}: the schema is not {}: use the same tik on both hosts.", place, reports_schema));
  JsonFields fields(json, place);
  fields.integer("schema", reports_schema, reports_schema);
  for (char const* const key : {"format", "evaluator_version", "seal", "incumbent", "complete"}) fields.value(key);
  std::vector<HostReport> reports;
  std::set<std::string> ids;
  for (Json const& entry : fields.array("reports")) {
    JsonFields entry_fields(entry, place + ": reports");
    std::string const id = entry_fields.text("id");
    for (char const* const key : {"source_sha256", "verified", "total_us"}) entry_fields.value(key);
    if (!entry_fields.failed() && (!is_candidate_id(id) || !ids.insert(id).second))
      return input_error(fmt::format("{}: {} is no candidate's id, or is there twice.", place, dump_json(Json(id))));
    TIK_TRY(Report report, load(entry_fields, id));
    TIK_CHECK(entry_fields.finish(true));
    reports.push_back({id, std::move(report)});
  }
  return fields.finish(std::move(reports));
}

tl::unexpected<Error> refuse(HostReport const& entry, std::string const& sentence) {
  return input_error(fmt::format("The report on {} {}", entry.id, sentence));
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

// The latencies of a report follow from its samples and the incumbent's recorded latencies, which this host knows itself.
Result<void> latencies_follow(HostReport const& entry, std::map<std::string, double> const* recorded_us,
                              spec::Specification const& specification) {
  std::set<std::string> seen;
  for (WorkloadMeasurement const& workload : entry.report.workloads) {
    if (specification.find_workload(workload.id) == nullptr || !seen.insert(workload.id).second)
      return refuse(entry, fmt::format("has a workload {} that the specification has not, or has it twice.", workload.id));
    if (workload.samples_us.empty() || !close(workload.median_us, median(workload.samples_us)))
      return refuse(entry, fmt::format("has a median for {} that is not that of its samples.", workload.id));
    if (recorded_us != nullptr && workload.incumbent_samples_us.size() != workload.samples_us.size())
      return refuse(entry, fmt::format("lacks samples of the incumbent for {}.", workload.id));
    double const latency_us = recorded_us == nullptr ? workload.median_us : recorded_us->at(workload.id) * workload.ratio;
    if (!(workload.latency_us > 0) || !close(workload.latency_us, latency_us))
      return refuse(entry, fmt::format("has a latency for {} that does not follow from its measurement and the incumbent's "
                                       "recorded latency.",
                                       workload.id));
  }
  return {};
}

} // namespace

Result<void> answers(HostReport const& entry, Expected const& expected, spec::Specification const& specification) {
  Report const& report = entry.report;
  if (report.evaluator_version != evaluator_version)
    return refuse(entry, fmt::format("was made by evaluator version {}, and this program has version {}: use the same tik on "
                                     "both hosts and evaluate again.",
                                     report.evaluator_version, evaluator_version));
  if (report.specification_sha256 != expected.seal)
    return refuse(entry, fmt::format("was made under the specification {:.12}..., not under {:.12}....",
                                     report.specification_sha256, expected.seal));
  if (report.source_sha256 != expected.source_sha256)
    return refuse(entry, fmt::format("is about the source {:.12}..., and the source of {} is {:.12}....", report.source_sha256,
                                     entry.id, expected.source_sha256));
  if (report.incumbent_sha256.empty() && report.workloads.empty()) return {}; // it failed before anything was measured
  if (expected.incumbents.empty() && report.incumbent_sha256.empty()) return latencies_follow(entry, nullptr, specification);
  auto const incumbent = expected.incumbents.find(report.incumbent_sha256);
  if (incumbent == expected.incumbents.end())
    return refuse(entry, report.incumbent_sha256.empty()
                             ? "was measured alone, not beside an incumbent."
                             : fmt::format("was measured beside the source {:.12}..., which was no incumbent of this search.",
                                           report.incumbent_sha256));
  return latencies_follow(entry, &incumbent->second, specification);
}

Expected expected_of(Bundle const& bundle, BundledSource const& candidate) {
  Expected expected{bundle.seal, candidate.source_sha256, {}};
  if (bundle.incumbent) expected.incumbents[bundle.incumbent->source_sha256] = bundle.incumbent_latency_us;
  return expected;
}

std::filesystem::path report_file(std::filesystem::path const& folder, std::string const& id) {
  return folder / (id + ".json");
}

Result<void> write_report(std::filesystem::path const& folder, HostReport const& entry) {
  return write_file(report_file(folder, entry.id), dump_json(to_json(entry.report)) + '\n');
}

Result<void> write_index(std::filesystem::path const& folder, Bundle const& bundle, std::vector<HostReport> const& reports) {
  Json entries = Json::array();
  for (HostReport const& entry : reports) {
    TIK_TRY(std::string const content, read_file(report_file(folder, entry.id)));
    Json item = summary(bundle, entry);
    item["sha256"] = sha256_hex(content);
    entries.push_back(std::move(item));
  }
  return write_file(folder / index_file, envelope(bundle, reports.size(), std::move(entries)).dump(1) + '\n');
}

Json to_json(Bundle const& bundle, std::vector<HostReport> const& reports) {
  Json entries = Json::array();
  for (HostReport const& entry : reports) {
    Json item = summary(bundle, entry);
    item["report"] = to_json(entry.report);
    entries.push_back(std::move(item));
  }
  return envelope(bundle, reports.size(), std::move(entries));
}

Result<std::vector<HostReport>> host_reports_from(Json const& json, std::string const& place) {
  return read_entries(json, place,
                      [](JsonFields& fields, std::string const&) { return report_from_json(fields.value("report")); });
}

Result<std::vector<HostReport>> read_reports(std::filesystem::path const& folder) {
  std::filesystem::path const index = folder / index_file;
  std::error_code ignored;
  if (!std::filesystem::exists(index, ignored))
    return input_error(fmt::format("{}: no reports are there (no {}); `tik evaluate --bundle FILE --out DIR` makes them.",
                                   folder.string(), index_file));
  TIK_TRY(std::string const text, read_file(index));
  TIK_TRY(Json const json, parse_json(text, index.string()));
  return read_entries(json, index.string(), [&](JsonFields& fields, std::string const& id) -> Result<Report> {
    std::string const hash = fields.text("sha256");
    std::filesystem::path const file = report_file(folder, id);
    TIK_TRY(std::string const content, read_file(file));
    if (sha256_hex(content) != hash)
      return input_error(
          fmt::format("{}: it is not what the index says: its hash differs. Copy it again, or delete it and "
                      "evaluate the bundle again.",
                      file.string()));
    TIK_TRY(Json const report, parse_json(content, file.string()));
    return report_from_json(report);
  });
}

} // namespace tik::evaluator
