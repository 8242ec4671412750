// The search state and its records, as far as they may be seen.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/agent/toolbox.h"
#include "src/report/attempt.h"
#include "src/report/format.h"
#include "src/report/links.h"

namespace tik::agent {
namespace {

template <class Ids>
Json id_array(Ids const& ids) {
  Json list = Json::array();
  for (auto const& id : ids) list.push_back(to_string(id));
  return list;
}

template <class Id>
Json optional_id(std::optional<Id> const& id) {
  return id ? Json(to_string(*id)) : Json(nullptr);
}

Json workload_json(spec::Workload const& workload) {
  Json json = {{"id", workload.id},
               {"entry_point", spec::to_string(workload.entry_point())},
               {"batch", workload.batch},
               {workload.kind == spec::WorkloadKind::decode ? "kv_tokens" : "tokens", workload.tokens}};
  if (workload.kind == spec::WorkloadKind::extend) json["prefix"] = workload.prefix;
  if (workload.page_size > 0) json["page_size"] = workload.page_size;
  json["cache"] = workload.cache == spec::CacheState::cold ? "cold" : "warm";
  json["weight"] = workload.weight;
  json["max_slowdown"] = workload.max_slowdown;
  return json;
}

// Latency of root and incumbent and the limit, workload by workload: part of an audit's detail.
Result<void> add_latencies(View const& view, Json& workloads) {
  TIK_TRY(ir::SearchIdentity const identity, view.store.identity());
  std::map<std::string, double> best;
  if (view.state.incumbent) {
    TIK_TRY(ir::Audit const audit, view.store.audit(*view.state.implementations.at(*view.state.incumbent).audit));
    for (evaluator::WorkloadMeasurement const& entry : audit.report.workloads) best[entry.id] = entry.latency_us;
  }
  for (Json& workload : workloads) {
    std::string const id = workload["id"];
    double const baseline = identity.baseline_us.at(id);
    workload["root_us"] = baseline;
    workload["limit_us"] = baseline * workload["max_slowdown"].get<double>();
    if (best.contains(id)) workload["incumbent_us"] = best.at(id);
  }
  return {};
}

Json total_of(search::State const& state, ir::ImplementationId id) {
  auto const& total = state.implementations.at(id).total_us;
  return {{"id", to_string(id)}, {"total_us", total ? Json(*total) : Json(nullptr)}};
}

std::string state_of(search::OpportunityState const& state) {
  if (state.pending) return "pending";
  return state.actions.empty() ? "withdrawn" : "taken";
}

// One record of a list: its short form, and the words that the filter `status` knows it by.
struct Line {
  Json json;
  std::set<std::string> statuses;
};

Result<Line> line_of(Sight const& sight, ir::ImplementationId id) {
  TIK_TRY(std::vector<report::Attempt> const attempts, report::describe_attempts(sight.view(), {id}));
  report::Attempt const& attempt = attempts.front();
  Json json = report::to_json(attempt);
  json.erase("on_best_path");
  if (sight.withheld().opportunities) {
    json.erase("opportunity");
    json.erase("mechanism");
  }
  std::set<std::string> statuses = {std::string(report::to_string(attempt.verdict))};
  search::State const& state = sight.view().state;
  if (state.frontier.contains(id)) statuses.insert("frontier");
  if (state.archive.contains(id)) statuses.insert("archive");
  if (attempt.status == ir::BranchStatus::abandoned) statuses.insert("abandoned");
  if (attempt.verdict >= report::Verdict::unmeasured) statuses.insert("verified");
  return Line{std::move(json), std::move(statuses)};
}

Result<Line> line_of(Sight const& sight, ir::OpportunityId id) {
  TIK_TRY(ir::Opportunity const opportunity, sight.view().store.opportunity(id));
  std::string const state = state_of(sight.view().state.opportunities.at(id));
  Json const whole = sight.shown(opportunity);
  Json json = {{"id", whole["id"]},
               {"status", state},
               {"kind", whole["kind"]},
               {"implementations", whole["implementations"]},
               {"evidence", whole["evidence"]},
               {"mechanism", whole["mechanism"]}};
  return Line{std::move(json), {state}};
}

Result<Line> line_of(Sight const& sight, ir::ActionId id) {
  TIK_TRY(ir::Action const action, sight.view().store.action(id));
  Json json = sight.shown(action);
  json.erase("diff");
  json.erase("created_at");
  auto const verdict = report::verdict_of(sight.view().state.implementations.at(action.result));
  json["verdict"] = report::to_string(verdict);
  return Line{std::move(json), {std::string(report::to_string(verdict))}};
}

Result<Line> line_of(Sight const& sight, ir::AuditId id) {
  TIK_TRY(ir::Audit const audit, sight.view().store.audit(id));
  Json const whole = sight.shown(audit);
  Json json;
  for (char const* const key : {"id", "implementation", "verified", "within_limits", "promoted", "total_us", "speedup"})
    if (whole.contains(key)) json[key] = whole[key];
  for (Json const& stage : whole["stages"])
    if (stage["outcome"] == "failed") json["failed"] = {{"stage", stage["name"]}, {"message", stage["message"]}};
  std::set<std::string> statuses = {whole["verified"].get<bool>() ? "verified" : "failed"};
  if (whole["promoted"].get<bool>()) statuses.insert("promoted");
  return Line{std::move(json), std::move(statuses)};
}

Result<Line> line_of(Sight const& sight, ir::LineageId id) {
  TIK_TRY(ir::LineageDecision const decision, sight.view().store.lineage_decision(id));
  Json json = sight.shown(decision);
  json.erase("created_at");
  return Line{std::move(json), {std::string(ir::to_string(decision.status))}};
}

// The ids of a type, newest first.
Result<std::vector<ir::AnyId>> ids_of_type(View const& view, std::string const& type) {
  std::vector<ir::AnyId> ids;
  TIK_TRY(ir::Store::Counts const counts, view.store.counts());
  if (type == "implementation")
    for (auto entry = view.state.implementations.rbegin(); entry != view.state.implementations.rend(); ++entry)
      ids.emplace_back(entry->first);
  if (type == "opportunity")
    for (auto entry = view.state.opportunities.rbegin(); entry != view.state.opportunities.rend(); ++entry)
      ids.emplace_back(entry->first);
  if (type == "audit")
    for (auto entry = view.state.audits.rbegin(); entry != view.state.audits.rend(); ++entry) ids.emplace_back(entry->first);
  if (type == "action")
    for (std::int64_t number = counts.actions; number > 0; --number) ids.emplace_back(ir::ActionId{number});
  if (type == "decision")
    for (std::int64_t number = counts.decisions; number > 0; --number) ids.emplace_back(ir::LineageId{number});
  return ids;
}

Result<Json> whole_record(Sight const& sight, ir::ImplementationId id) {
  TIK_TRY(ir::Implementation const record, sight.view().store.implementation(id));
  TIK_TRY(Line const line, line_of(sight, id));
  return Json{{"type", "implementation"}, {"record", sight.shown(record)}, {"state", line.json}};
}
Result<Json> whole_record(Sight const& sight, ir::OpportunityId id) {
  TIK_TRY(ir::Opportunity const record, sight.view().store.opportunity(id));
  TIK_TRY(std::optional<ir::Withdrawal> const withdrawal, sight.view().store.withdrawal(id));
  Json json = {
      {"type", "opportunity"}, {"record", sight.shown(record)}, {"status", state_of(sight.view().state.opportunities.at(id))}};
  if (withdrawal) json["withdrawn_because"] = withdrawal->reason;
  return json;
}
Result<Json> whole_record(Sight const& sight, ir::ActionId id) {
  TIK_TRY(ir::Action const record, sight.view().store.action(id));
  return Json{{"type", "action"}, {"record", sight.shown(record)}};
}
Result<Json> whole_record(Sight const& sight, ir::AuditId id) {
  TIK_TRY(ir::Audit const record, sight.view().store.audit(id));
  return Json{{"type", "audit"}, {"record", sight.shown(record)}};
}
Result<Json> whole_record(Sight const& sight, ir::LineageId id) {
  TIK_TRY(ir::LineageDecision const record, sight.view().store.lineage_decision(id));
  return Json{{"type", "decision"}, {"record", sight.shown(record)}};
}

} // namespace

Result<std::string> Toolbox::state(Arguments const&) {
  View const view = desk_.view();
  Sight const sight = this->sight();
  search::State const& state = view.state;
  spec::Specification const& specification = view.specification;
  Json workloads = Json::array();
  for (spec::Workload const& workload : specification.workloads) workloads.push_back(workload_json(workload));
  if (!withheld_.evidence) TIK_CHECK(add_latencies(view, workloads));
  // What an agent chooses from comes first: a small answer is cut behind it.
  Json json = {{"next", next_step(state, draft_.has_value())},
               {"objective", "T, the sum over workloads of weight times latency; lower is better"},
               {"incumbent", state.incumbent ? total_of(state, *state.incumbent) : Json(nullptr)},
               {"speedup", state.speedup()}};
  if (draft_) json["draft_of"] = id_array(draft_->parents);
  auto const list = [&](auto const& ids) {
    Json entries = Json::array();
    for (ir::ImplementationId const id : sight.only_seen(ids)) entries.push_back(total_of(state, id));
    return entries;
  };
  if (!withheld_.lineage) {
    json["frontier"] = list(state.frontier);
    json["archive"] = list(state.archive);
  }
  if (!withheld_.opportunities) {
    json["pending"] = Json::array();
    for (ir::OpportunityId const id : state.pending) {
      TIK_TRY(Line const line, line_of(sight, id));
      Json entry = line.json;
      entry.erase("status");
      entry["mechanism"] = report::one_line(entry["mechanism"].get<std::string>(), 160);
      json["pending"].push_back(std::move(entry));
    }
  }
  json["workloads"] = std::move(workloads);
  json["search"] = specification.name;
  json["operator"] = specification.operator_name;
  json["target"] = specification.target;
  json["shape"] = {{"query_heads", specification.shape.query_heads},
                   {"kv_heads", specification.shape.kv_heads},
                   {"head_dim", specification.shape.head_dim}};
  json["steps"] = state.steps;
  json["patience"] = {{"used", state.patience_used}, {"limit", specification.stopping.patience}};
  json["root"] = state.root ? total_of(state, *state.root) : Json(nullptr);
  json["awaiting_audit"] = optional_id(state.awaiting_audit);
  json["awaiting_decision"] = optional_id(state.awaiting_decision);
  if (state.model_tokens > 0) json["model_tokens"] = state.model_tokens;
  if (withheld_.any()) json["withheld"] = agent::to_string(withheld_);
  return pretty(json);
}

Result<std::string> Toolbox::list_records(Arguments const& arguments) {
  Sight const sight = this->sight();
  std::set<std::string> linked;
  if (arguments.has("linked_to")) {
    TIK_TRY(ir::AnyId const id, ir::parse_any_id(arguments.text("linked_to")));
    TIK_CHECK(sight.may_see(id));
    TIK_TRY(report::Links const links, report::links_of(sight.view(), id));
    for (auto const& [name, ids] : links) linked.insert(ids.begin(), ids.end());
  }
  std::string const status = arguments.text("status"), contains = arguments.text("contains");
  auto const limit = static_cast<std::size_t>(arguments.integer("limit", 30));
  TIK_TRY(std::vector<ir::AnyId> const ids, ids_of_type(sight.view(), arguments.text("type")));
  std::string answer;
  std::size_t shown = 0, left = 0;
  for (ir::AnyId const& id : ids) {
    bool const wanted = std::visit(
        [&](auto typed) { return sight.sees(typed) && (!arguments.has("linked_to") || linked.contains(to_string(typed))); },
        id);
    if (!wanted) continue;
    TIK_TRY(Line const line, std::visit([&](auto typed) { return line_of(sight, typed); }, id));
    std::string const text = dump_json(line.json);
    if (!status.empty() && !line.statuses.contains(status)) continue;
    if (!contains.empty() && text.find(contains) == std::string::npos) continue;
    if (shown == limit) {
      ++left;
      continue;
    }
    ++shown;
    answer += dump_json(rounded(line.json)) + '\n';
  }
  if (shown == 0) return std::string("No record.\n");
  if (left > 0) answer += fmt::format("[{} more; a larger limit shows them]\n", left);
  return answer;
}

Result<std::string> Toolbox::read_record(Arguments const& arguments) {
  Sight const sight = this->sight();
  Json records = Json::array();
  for (std::string const& text : arguments.texts("ids")) {
    TIK_TRY(ir::AnyId const id, ir::parse_any_id(text));
    TIK_CHECK(sight.may_see(id));
    TIK_TRY(Json record, std::visit([&](auto typed) { return whole_record(sight, typed); }, id));
    TIK_TRY(report::Links const links, report::links_of(sight.view(), id));
    for (auto const& [name, ids] : links) {
      std::vector<std::string> const seen = sight.only_seen_texts(ids);
      if (!seen.empty()) record["links"][name] = seen;
    }
    records.push_back(std::move(record));
  }
  return pretty(records.size() == 1 ? records[0] : records);
}

} // namespace tik::agent
