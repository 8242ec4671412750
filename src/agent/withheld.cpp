#include "src/agent/withheld.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/report/format.h"
#include "src/spec/manifest.h"

namespace tik::agent {
namespace {

struct Part {
  char const* name;
  bool Withheld::*flag;
};
constexpr Part parts[] = {{"history", &Withheld::history},
                          {"numerics", &Withheld::numerics},
                          {"evidence", &Withheld::evidence},
                          {"opportunities", &Withheld::opportunities},
                          {"lineage", &Withheld::lineage}};

constexpr std::string_view withheld_line = "# (withheld)";

// Tables of implementation.toml that state requirements, and keys that name a numerical risk.
bool starts_requirement(std::string_view line) { return line.starts_with("[[numerics]]"); }
bool names_risk(std::string_view line) { return line.starts_with("risk ") || line.starts_with("risk="); }

template <class Visit>
void each_line(std::string const& text, Visit visit) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find('\n', begin), text.size());
    visit(std::string_view(text).substr(begin, end - begin), end < text.size());
    begin = end + 1;
  }
}

Json stage_shown(evaluator::Stage const& stage, bool only_outcome) {
  Json json = {{"name", stage.name}, {"outcome", evaluator::to_string(stage.outcome)}};
  bool const failed = stage.outcome == evaluator::Outcome::failed;
  bool const measures = stage.name == "measurement" || stage.name == "evidence";
  if (only_outcome && measures && !failed) return json;
  json["message"] = stage.message;
  if (failed) json["details"] = stage.details;
  return json;
}

} // namespace

std::string to_string(Withheld const& withheld) {
  std::vector<std::string> names;
  for (Part const& part : parts)
    if (withheld.*part.flag) names.emplace_back(part.name);
  return report::join(names, ", ");
}

Result<Withheld> withheld_from(std::vector<std::string> const& names) {
  Withheld withheld;
  for (std::string const& name : names) {
    auto const* const part =
        std::find_if(std::begin(parts), std::end(parts), [&](Part const& known) { return known.name == name; });
    if (part == std::end(parts))
      return input_error(fmt::format(
          "--without {}: there is no such part. Known: history, numerics, evidence, opportunities, lineage.", name));
    withheld.*part->flag = true;
  }
  return withheld;
}

std::string agent_name(std::string const& name, Withheld const& withheld) {
  return withheld.any() ? fmt::format("{}, without {}", name, to_string(withheld)) : name;
}

// Without history: "Only the current-best implementation and its latest audit record are available; earlier attempts' records
// are withheld." (paper, ablations) The attempt in hand is not an earlier one.
bool Sight::sees(ir::ImplementationId id) const {
  search::State const& state = view_.state;
  if (!withheld_.history) return state.implementations.contains(id);
  if (id == state.incumbent || id == state.awaiting_audit) return true;
  return state.awaiting_decision && state.audits.at(*state.awaiting_decision) == id;
}

bool Sight::sees(ir::AuditId id) const {
  auto const found = view_.state.audits.find(id);
  return found != view_.state.audits.end() && sees(found->second);
}

bool Sight::sees(ir::ActionId id) const {
  if (!withheld_.history) return true;
  return std::any_of(view_.state.implementations.begin(), view_.state.implementations.end(), [&](auto const& entry) {
    return entry.second.action == id && sees(entry.first) && entry.first != view_.state.incumbent;
  });
}

// Pending opportunities are the choice at hand, not an attempt.
bool Sight::sees(ir::OpportunityId id) const {
  if (withheld_.opportunities) return false;
  if (!withheld_.history) return view_.state.opportunities.contains(id);
  return view_.state.pending.contains(id);
}

bool Sight::sees(ir::LineageId) const { return !withheld_.history; }

Result<void> Sight::may_see(ir::AnyId id) const {
  return std::visit(
      [&](auto typed) -> Result<void> {
        if (sees(typed)) return {};
        if (!withheld_.history && !withheld_.opportunities) return {}; // not there at all: the store says which are
        return input_error(fmt::format("{}: it is not there, or withheld: this agent works without {}.", to_string(typed),
                                       agent::to_string(withheld_)));
      },
      id);
}

std::vector<std::string> Sight::only_seen_texts(std::vector<std::string> const& ids) const {
  std::vector<std::string> kept;
  for (std::string const& text : ids) {
    auto const id = ir::parse_any_id(text);
    if (!id || std::visit([&](auto typed) { return sees(typed); }, *id)) kept.push_back(text);
  }
  return kept;
}

Json Sight::shown(ir::Opportunity const& opportunity) const {
  Json json = ir::to_json(opportunity);
  json.erase("schema");
  json.erase("hint");
  json["evidence"] = only_seen_texts(json["evidence"].get<std::vector<std::string>>());
  json["implementations"] = only_seen_texts(json["implementations"].get<std::vector<std::string>>());
  if (withheld_.history) json.erase("origin");
  return json;
}

Json Sight::shown(ir::Implementation const& implementation) const {
  Json json = ir::to_json(implementation);
  json.erase("schema");
  json["parents"] = only_seen_texts(json["parents"].get<std::vector<std::string>>());
  Json& manifest = json["manifest"];
  // Long, and to be read in implementation.toml where they are wanted.
  for (char const* const key : {"tunables", "rewrites"})
    if (manifest.contains(key)) manifest.erase(key);
  if (withheld_.numerics) manifest.erase("numerics");
  return json;
}

Json Sight::shown(ir::Action const& action) const {
  Json json = ir::to_json(action);
  json.erase("schema");
  json["parents"] = only_seen_texts(json["parents"].get<std::vector<std::string>>());
  json["diff"] = shown_diff(action.diff);
  if (withheld_.numerics) json.erase("risks");
  if (withheld_.opportunities) json.erase("opportunity");
  return json;
}

// Without evidence: "Only correctness outcomes and aggregate execution time are provided." (paper, ablations)
Json Sight::shown(ir::Audit const& audit) const {
  evaluator::Report const& report = audit.report;
  auto const& state = view_.state.implementations.at(audit.implementation);
  Json json = {{"id", to_string(audit.id)},
               {"implementation", to_string(audit.implementation)},
               {"verified", state.verified},
               {"measured", state.measured},
               {"within_limits", state.within_limits},
               {"promoted", state.promoted},
               {"total_us", state.total_us ? Json(*state.total_us) : Json(nullptr)}};
  if (state.total_us && *state.total_us > 0) json["speedup"] = view_.state.root_total_us / *state.total_us;
  json["stages"] = Json::array();
  for (evaluator::Stage const& stage : report.stages) json["stages"].push_back(stage_shown(stage, withheld_.evidence));
  json["created_at"] = audit.created_at;
  if (withheld_.evidence) return json;
  json["workloads"] = Json::array();
  for (evaluator::WorkloadMeasurement const& workload : report.workloads)
    json["workloads"].push_back({{"id", workload.id},
                                 {"latency_us", workload.latency_us},
                                 {"spread_us", workload.spread_us},
                                 {"ratio_to_incumbent", report.incumbent_sha256.empty() ? Json(nullptr) : Json(workload.ratio)},
                                 {"cache", workload.cache}});
  json["evidence"] = Json::object();
  for (evaluator::Evidence const& evidence : report.evidence)
    json["evidence"][evidence.name] =
        evidence.available ? "available from " + evidence.source : "unavailable: " + evidence.reason;
  return json;
}

Json Sight::shown(ir::LineageDecision const& decision) const {
  Json json = ir::to_json(decision);
  json.erase("schema");
  if (withheld_.opportunities) json.erase("follow_ups");
  return json;
}

std::string Sight::shown_source(std::string const& file, std::string text) const {
  if (!withheld_.numerics || file != spec::manifest_file) return text;
  std::string shown;
  bool hidden = false;
  each_line(text, [&](std::string_view line, bool ended) {
    if (line.starts_with("[")) hidden = starts_requirement(line);
    shown += hidden || names_risk(line) ? withheld_line : line;
    if (ended) shown += '\n';
  });
  return shown;
}

std::string Sight::shown_diff(std::string const& diff) const {
  if (!withheld_.numerics) return diff;
  std::string shown;
  bool hidden = false;
  each_line(diff, [&](std::string_view line, bool ended) {
    bool const header = line.starts_with("diff --git ");
    if (header) hidden = line.ends_with("/" + std::string(spec::manifest_file));
    if (hidden && !header) return;
    shown += line;
    if (ended) shown += '\n';
    if (hidden) shown += "(withheld)\n";
  });
  return shown;
}

} // namespace tik::agent
