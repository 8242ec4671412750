// What can still be acted on: an opportunity is of use while a branch that it is about is active.
#pragma once

#include "src/agent/agent.h"
#include "src/search/state.h"

namespace tik::search {

// The frontier as it will be once the decisions of the management are recorded.
std::set<ir::ImplementationId> frontier_after(State const& state, agent::ManagementDraft const& draft);
// Whether an action could take a pending opportunity about these implementations while the frontier is this one.
bool is_within_reach(ir::Opportunity::Kind kind, std::vector<ir::ImplementationId> const& implementations,
                     std::set<ir::ImplementationId> const& frontier);
// The pending opportunities that an action could take now.
std::set<ir::OpportunityId> within_reach(State const& state);

} // namespace tik::search
