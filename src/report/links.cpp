#include "src/report/links.h"

#include <algorithm>

namespace tik::report {
namespace {

template <class Range, class Get>
std::vector<std::string> ids_of(Range const& range, Get get) {
  std::vector<std::string> ids;
  for (auto const& element : range) ids.push_back(to_string(get(element)));
  return ids;
}

template <class Ids>
std::vector<std::string> ids_of(Ids const& ids) {
  return ids_of(ids, [](auto const& id) { return id; });
}

template <class Id>
std::vector<std::string> one(std::optional<Id> const& id) {
  return id ? std::vector{to_string(*id)} : std::vector<std::string>{};
}

Result<Links> links(agent::View const& view, ir::ImplementationId id) {
  TIK_TRY(ir::Implementation const record, view.store.implementation(id));
  TIK_TRY(std::optional<ir::Action> const action, view.store.action_of(id));
  TIK_TRY(std::vector<ir::Audit> const audits, view.store.audits_of(id));
  TIK_TRY(std::vector<ir::LineageDecision> const decisions, view.store.decisions_of(id));
  TIK_TRY(std::vector<ir::Action> const children, view.store.children_of(id));
  std::vector<ir::OpportunityId> opportunities;
  for (auto const& [opportunity, known] : view.state.opportunities)
    if (std::find(known.implementations.begin(), known.implementations.end(), id) != known.implementations.end())
      opportunities.push_back(opportunity);
  return Links{{"parents", ids_of(record.parents)},
               {"action", one(action ? std::optional(action->id) : std::nullopt)},
               {"audits", ids_of(audits, [](auto const& audit) { return audit.id; })},
               {"decisions", ids_of(decisions, [](auto const& decision) { return decision.id; })},
               {"offspring", ids_of(children, [](auto const& child) { return child.result; })},
               {"opportunities", ids_of(opportunities)}};
}

Result<Links> links(agent::View const& view, ir::OpportunityId id) {
  TIK_TRY(ir::Opportunity const record, view.store.opportunity(id));
  TIK_TRY(std::vector<ir::Action> const actions, view.store.actions_of(id));
  return Links{{"implementations", ids_of(record.implementations)},
               {"evidence", ids_of(record.evidence)},
               {"origin", one(record.origin)},
               {"actions", ids_of(actions, [](auto const& action) { return action.id; })},
               {"offspring", ids_of(actions, [](auto const& action) { return action.result; })}};
}

Result<Links> links(agent::View const& view, ir::ActionId id) {
  TIK_TRY(ir::Action const record, view.store.action(id));
  TIK_TRY(std::vector<ir::Audit> const audits, view.store.audits_of(record.result));
  return Links{{"opportunity", {to_string(record.opportunity)}},
               {"parents", ids_of(record.parents)},
               {"result", {to_string(record.result)}},
               {"audits", ids_of(audits, [](auto const& audit) { return audit.id; })}};
}

Result<Links> links(agent::View const& view, ir::AuditId id) {
  TIK_TRY(std::vector<ir::LineageDecision> const decisions, view.store.decisions_on(id));
  auto const audited = view.state.audits.find(id);
  return Links{{"implementation", one(audited == view.state.audits.end() ? std::nullopt : std::optional(audited->second))},
               {"decisions", ids_of(decisions, [](auto const& decision) { return decision.id; })}};
}

Result<Links> links(agent::View const& view, ir::LineageId id) {
  TIK_TRY(ir::LineageDecision const record, view.store.lineage_decision(id));
  return Links{{"implementation", {to_string(record.implementation)}},
               {"audit", {to_string(record.audit)}},
               {"evidence", ids_of(record.evidence)},
               {"follow-ups", ids_of(record.follow_ups)}};
}

} // namespace

Result<Links> links_of(agent::View const& view, ir::AnyId id) {
  return std::visit([&](auto typed) { return links(view, typed); }, id);
}

} // namespace tik::report
