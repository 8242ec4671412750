#include "src/report/attempt.h"

#include <fmt/format.h>

#include <algorithm>

namespace tik::report {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::unaudited:
      return "unaudited";
    case Verdict::failed:
      return "failed";
    case Verdict::unmeasured:
      return "unmeasured";
    case Verdict::over_limit:
      return "over limit";
    case Verdict::verified:
      return "verified";
    case Verdict::promoted:
      return "promoted";
  }
  return "unaudited";
}

Verdict verdict_of(search::ImplementationState const& state) {
  if (!state.audited) return Verdict::unaudited;
  if (!state.verified) return Verdict::failed;
  if (state.promoted) return Verdict::promoted;
  if (!state.measured) return Verdict::unmeasured;
  return state.within_limits ? Verdict::verified : Verdict::over_limit;
}

std::set<ir::ImplementationId> ancestors(search::State const& state, ir::ImplementationId id) {
  std::set<ir::ImplementationId> seen;
  std::vector<ir::ImplementationId> open = {id};
  while (!open.empty()) {
    ir::ImplementationId const next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    if (auto const found = state.implementations.find(next); found != state.implementations.end())
      open.insert(open.end(), found->second.parents.begin(), found->second.parents.end());
  }
  return seen;
}

std::vector<ir::ImplementationId> stepping_stones(search::State const& state) {
  // Parents have smaller ids than their offspring, so one pass from the newest carries "has a promoted descendant" upwards.
  std::set<ir::ImplementationId> enabling;
  for (auto entry = state.implementations.rbegin(); entry != state.implementations.rend(); ++entry)
    if (entry->second.promoted || enabling.contains(entry->first))
      enabling.insert(entry->second.parents.begin(), entry->second.parents.end());
  std::vector<ir::ImplementationId> stones;
  for (auto const& [id, implementation] : state.implementations)
    if (enabling.contains(id) && implementation.verified && !implementation.promoted && id != state.root) stones.push_back(id);
  return stones;
}

std::vector<ir::ImplementationId> newest_first(search::State const& state, std::size_t limit) {
  std::vector<ir::ImplementationId> ids;
  for (auto entry = state.implementations.rbegin(); entry != state.implementations.rend(); ++entry) {
    if (limit > 0 && ids.size() == limit) break;
    ids.push_back(entry->first);
  }
  return ids;
}

Result<std::vector<Attempt>> describe_attempts(agent::View const& view, std::vector<ir::ImplementationId> const& ids) {
  search::State const& state = view.state;
  std::set<ir::ImplementationId> const best_path =
      state.incumbent ? ancestors(state, *state.incumbent) : std::set<ir::ImplementationId>{};
  std::vector<Attempt> attempts;
  for (ir::ImplementationId const id : ids) {
    auto const found = state.implementations.find(id);
    if (found == state.implementations.end())
      return input_error(fmt::format("{}: this search has no such implementation; `tik log` lists them.", to_string(id)));
    search::ImplementationState const& known = found->second;
    Attempt attempt;
    attempt.id = id;
    attempt.parents = known.parents;
    attempt.audit = known.audit;
    attempt.verdict = verdict_of(known);
    attempt.total_us = known.total_us;
    if (known.total_us && *known.total_us > 0 && state.root_total_us > 0)
      attempt.speedup = state.root_total_us / *known.total_us;
    attempt.status = known.status;
    attempt.incumbent = state.incumbent == id;
    attempt.on_best_path = best_path.contains(id);
    if (known.action) {
      TIK_TRY(ir::Action const action, view.store.action(*known.action));
      TIK_TRY(ir::Opportunity const opportunity, view.store.opportunity(action.opportunity));
      attempt.action = action.id;
      attempt.opportunity = action.opportunity;
      attempt.form = action.form;
      attempt.mechanism = opportunity.mechanism;
      attempt.agent = action.agent;
    } else {
      attempt.mechanism = "root";
    }
    if (known.audit && attempt.verdict == Verdict::failed) {
      TIK_TRY(ir::Audit const audit, view.store.audit(*known.audit));
      auto const failed =
          std::find_if(audit.report.stages.begin(), audit.report.stages.end(),
                       [](evaluator::Stage const& stage) { return stage.outcome == evaluator::Outcome::failed; });
      if (failed != audit.report.stages.end()) {
        attempt.failed_stage = failed->name;
        attempt.failure = failed->message;
      }
    }
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

std::string outcome_words(Attempt const& attempt) {
  if (attempt.verdict == Verdict::failed && !attempt.failed_stage.empty()) return attempt.failed_stage + " failed";
  if (attempt.verdict == Verdict::promoted && attempt.parents.empty()) return "root";
  return std::string(to_string(attempt.verdict));
}

ir::Json to_json(Attempt const& attempt) {
  auto const id = [](auto const& value) { return value ? ir::Json(to_string(*value)) : ir::Json(nullptr); };
  ir::Json parents = ir::Json::array();
  for (ir::ImplementationId const parent : attempt.parents) parents.push_back(to_string(parent));
  ir::Json json;
  json["id"] = to_string(attempt.id);
  json["parents"] = std::move(parents);
  json["action"] = id(attempt.action);
  json["opportunity"] = id(attempt.opportunity);
  json["form"] = id(attempt.form);
  json["mechanism"] = attempt.mechanism;
  json["agent"] = attempt.agent;
  json["audit"] = id(attempt.audit);
  json["verdict"] = to_string(attempt.verdict);
  json["failed_stage"] = attempt.failed_stage.empty() ? ir::Json(nullptr) : ir::Json(attempt.failed_stage);
  json["failure"] = attempt.failure.empty() ? ir::Json(nullptr) : ir::Json(attempt.failure);
  json["total_us"] = attempt.total_us ? ir::Json(*attempt.total_us) : ir::Json(nullptr);
  json["speedup"] = attempt.speedup ? ir::Json(*attempt.speedup) : ir::Json(nullptr);
  json["status"] = id(attempt.status);
  json["incumbent"] = attempt.incumbent;
  json["on_best_path"] = attempt.on_best_path;
  return json;
}

} // namespace tik::report
