#include "src/search/reach.h"

#include <algorithm>

namespace tik::search {

std::set<ir::ImplementationId> frontier_after(State const& state, agent::ManagementDraft const& draft) {
  std::set<ir::ImplementationId> frontier = state.frontier;
  for (agent::DecisionDraft const& decision : draft.decisions) {
    frontier.erase(decision.implementation);
    auto const decided = state.implementations.find(decision.implementation);
    bool const verified = decided != state.implementations.end() && decided->second.verified;
    if (verified && is_active(decision.status)) frontier.insert(decision.implementation);
  }
  return frontier;
}

bool is_within_reach(ir::Opportunity::Kind kind, std::vector<ir::ImplementationId> const& implementations,
                     std::set<ir::ImplementationId> const& frontier) {
  auto const active = [&](ir::ImplementationId id) { return frontier.contains(id); };
  if (kind == ir::Opportunity::Kind::merge) return std::all_of(implementations.begin(), implementations.end(), active);
  return std::any_of(implementations.begin(), implementations.end(), active);
}

std::set<ir::OpportunityId> within_reach(State const& state) {
  std::set<ir::OpportunityId> ids;
  for (ir::OpportunityId const id : state.pending) {
    OpportunityState const& opportunity = state.opportunities.at(id);
    if (is_within_reach(opportunity.kind, opportunity.implementations, state.frontier)) ids.insert(id);
  }
  return ids;
}

} // namespace tik::search
