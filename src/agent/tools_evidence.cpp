// What audits measured and read: one in full, several side by side.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/agent/toolbox.h"
#include "src/ir/any_id.h"
#include "src/report/flatten.h"
#include "src/report/format.h"

namespace tik::agent {
namespace {

// What an element of a list must not be about to be kept.
struct About {
  std::string workload;                // empty: any
  std::set<std::string> other_ids;     // workloads that are not meant
  std::set<std::string> other_symbols; // symbols of the other entry point
  std::set<std::string> other_files;   // files of the other entry point alone
  bool everything = true;
};

Result<About> about(View const& view, ir::Implementation const& implementation, Arguments const& arguments) {
  About result;
  std::optional<spec::EntryPoint> entry_point;
  if (std::string const id = arguments.text("workload"); !id.empty()) {
    spec::Workload const* const workload = view.specification.find_workload(id);
    if (!workload)
      return input_error(fmt::format("evidence: workload: '{}' is none of the specification; the tool state lists them.", id));
    entry_point = workload->entry_point();
    result.workload = id;
  }
  if (std::string const name = arguments.text("entry_point"); !name.empty()) {
    auto const asked = name == "full" ? spec::EntryPoint::full : spec::EntryPoint::decode;
    if (entry_point && *entry_point != asked) return input_error("evidence: the workload belongs to the other entry point.");
    entry_point = asked;
  }
  if (!entry_point) return result;
  result.everything = false;
  for (spec::Workload const& workload : view.specification.workloads)
    if (workload.entry_point() != *entry_point || (!result.workload.empty() && workload.id != result.workload))
      result.other_ids.insert(workload.id);
  spec::Manifest const& manifest = implementation.manifest;
  bool const full = *entry_point == spec::EntryPoint::full;
  std::vector<std::string> const& files = full ? manifest.decode_files : manifest.full_files;
  result.other_files.insert(files.begin(), files.end());
  if (full) result.other_symbols = {manifest.decode_symbol};
  if (!full) result.other_symbols = {manifest.full_symbol, manifest.extend_symbol};
  return result;
}

bool is_other(Json const& element, About const& about) {
  auto const names = [&](char const* key, std::set<std::string> const& others) {
    return element.contains(key) && element[key].is_string() && others.contains(element[key].get<std::string>());
  };
  return element.is_object() && (names("workload", about.other_ids) || names("id", about.other_ids) ||
                                 names("symbol", about.other_symbols) || names("file", about.other_files));
}

Json only(Json const& json, About const& about) {
  if (about.everything || json.is_primitive()) return json;
  Json kept = json.is_array() ? Json::array() : Json::object();
  if (json.is_array()) {
    for (Json const& element : json)
      if (!is_other(element, about)) kept.push_back(only(element, about));
  } else {
    for (auto const& [key, value] : json.items()) kept[key] = only(value, about);
  }
  return kept;
}

Json latency_section(evaluator::Report const& report) {
  Json list = Json::array();
  for (evaluator::WorkloadMeasurement const& workload : report.workloads) {
    Json entry = {{"id", workload.id},
                  {"entry_point", spec::to_string(workload.entry_point)},
                  {"latency_us", workload.latency_us},
                  {"median_us", workload.median_us},
                  {"spread_us", workload.spread_us},
                  {"samples", workload.samples_us.size()},
                  {"cache", workload.cache}};
    if (!report.incumbent_sha256.empty()) {
      entry["ratio_to_incumbent"] = workload.ratio;
      entry["ratio_spread"] = workload.ratio_spread;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

// The sections of a report by name, in order.
std::vector<std::pair<std::string, Json>> sections(evaluator::Report const& report, About const& about,
                                                   std::vector<std::string> const& wanted) {
  std::vector<std::pair<std::string, Json>> list;
  auto const add = [&](std::string const& name, Json json) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end())
      list.emplace_back(name, only(json, about));
  };
  Json stages = Json::array();
  for (evaluator::Stage const& stage : report.stages)
    stages.push_back({{"name", stage.name},
                      {"outcome", evaluator::to_string(stage.outcome)},
                      {"seconds", stage.seconds},
                      {"message", stage.message},
                      {"details", stage.details}});
  add("stages", std::move(stages));
  add("latency", latency_section(report));
  for (evaluator::Evidence const& evidence : report.evidence)
    add(evidence.name, evidence.available ? Json{{"source", evidence.source}, {"data", evidence.data}}
                                          : Json{{"unavailable", evidence.reason}});
  return list;
}

using Values = std::map<std::string, std::string>;

// One line a value that is not the same in all, in the order of its first appearance.
std::string side_by_side(std::vector<std::string> const& names,
                         std::vector<std::vector<std::pair<std::string, std::string>>> const& all) {
  std::vector<Values> values;
  std::vector<std::string> order;
  std::set<std::string> seen;
  for (auto const& pairs : all) {
    Values& own = values.emplace_back();
    for (auto const& [path, value] : pairs) {
      std::string name = path;
      for (int again = 2; own.contains(name); ++again) name = fmt::format("{} #{}", path, again); // two loops of one file
      own[name] = value;
      if (seen.insert(name).second) order.push_back(name);
    }
  }
  std::vector<std::vector<std::string>> rows = {{"value"}};
  rows[0].insert(rows[0].end(), names.begin(), names.end());
  for (std::string const& path : order) {
    std::vector<std::string> row = {path};
    bool same = true;
    for (Values const& own : values) {
      auto const found = own.find(path);
      row.push_back(found == own.end() ? "-" : report::one_line(found->second, 60));
      same = same && found != own.end() && found->second == values.front()[path];
    }
    if (!same) rows.push_back(std::move(row));
  }
  return rows.size() > 1 ? report::text_table(rows, std::string(names.size() + 1, 'l'))
                         : "Nothing in these sections differs.\n";
}

} // namespace

Result<std::string> Toolbox::evidence(Arguments const& arguments) {
  std::vector<std::string> const texts = arguments.texts("audits"), wanted = arguments.texts("sections");
  TIK_TRY(std::vector<ir::AuditId> const ids, ir::parse_ids<'U'>(texts));
  if (ids.empty()) return input_error("evidence: audits: it is empty; name at least one, such as U1.");
  View const view = desk_.view();
  std::string answer;
  std::vector<std::vector<std::pair<std::string, std::string>>> flattened;
  for (ir::AuditId const id : ids) {
    TIK_CHECK(sight().may_see(id));
    TIK_TRY(ir::Audit const audit, view.store.audit(id));
    TIK_TRY(ir::Implementation const implementation, view.store.implementation(audit.implementation));
    TIK_TRY(About const filter, about(view, implementation, arguments));
    auto& pairs = flattened.emplace_back();
    for (auto const& [name, json] : sections(audit.report, filter, wanted)) {
      if (ids.size() == 1)
        answer += fmt::format("{} of {} ({})\n{}\n", name, to_string(id), to_string(audit.implementation), pretty(json));
      else
        for (auto const& [path, value] : report::flatten(json)) pairs.emplace_back(name + "." + path, value);
    }
  }
  return ids.size() == 1 ? answer : side_by_side(texts, flattened);
}

} // namespace tik::agent
