// Lineage Management (paper, section 5): decisions about branches, follow-up opportunities and withdrawals, without touching
// the incumbent.
#include <fmt/format.h>

#include <set>

#include "src/search/impl.h"

namespace tik::search {
Result<void> may_withdraw(State const& state, ir::Withdrawal const& withdrawal) {
  if (withdrawal.reason.find_first_not_of(" \t\r\n") == std::string::npos)
    return input_error(fmt::format("The withdrawal of {} has no reason.", to_string(withdrawal.opportunity)));
  if (state.pending.contains(withdrawal.opportunity)) return {};
  return input_error(
      fmt::format("{} cannot be withdrawn: it is not a pending opportunity.", to_string(withdrawal.opportunity)));
}

// All rules on all drafts, against the state before any of them, so that nothing is written when one is refused.
Result<void> may_manage(State const& state, spec::Specification const& specification, ir::AuditId audit,
                        agent::ManagementDraft const& draft) {
  if (draft.decisions.empty())
    return input_error(fmt::format("{} needs a decision about the branch of its implementation.", to_string(audit)));
  TIK_CHECK(leads(state, audit, draft.decisions.front()));
  std::set<ir::ImplementationId> decided;
  for (agent::DecisionDraft const& decision : draft.decisions) {
    if (!decided.insert(decision.implementation).second)
      return input_error(fmt::format("Two decisions on {} are about {}: one is enough.", to_string(audit),
                                     to_string(decision.implementation)));
    TIK_CHECK(may_decide(state, audit, decision));
    for (ir::Opportunity const& opportunity : decision.follow_ups) TIK_CHECK(may_propose(state, specification, opportunity));
  }
  std::set<ir::OpportunityId> withdrawn;
  for (ir::Withdrawal const& withdrawal : draft.withdrawals) {
    if (!withdrawn.insert(withdrawal.opportunity).second)
      return input_error(fmt::format("{} is withdrawn twice.", to_string(withdrawal.opportunity)));
    TIK_CHECK(may_withdraw(state, withdrawal));
  }
  return {};
}

Result<std::vector<ir::LineageDecision>> Search::record_management(agent::ManagementDraft const& draft, ir::AuditId audit,
                                                                   std::string const& agent_name) {
  TIK_CHECK(impl_->writable());
  TIK_CHECK(may_manage(impl_->state, impl_->specification, audit, draft));
  std::vector<std::pair<ir::LineageDecision, std::vector<ir::Opportunity>>> decisions;
  for (agent::DecisionDraft const& entry : draft.decisions) {
    ir::LineageDecision decision;
    decision.implementation = entry.implementation;
    decision.audit = audit;
    decision.interpretation = entry.interpretation;
    decision.status = entry.status;
    decision.reason = entry.reason;
    decision.evidence = entry.evidence;
    decision.agent = agent_name;
    decisions.emplace_back(std::move(decision), entry.follow_ups);
  }
  TIK_TRY(std::vector<ir::LineageDecision> recorded, impl_->store.append(std::move(decisions), draft.withdrawals));
  TIK_CHECK(refresh(impl_->state, impl_->store));
  return recorded;
}

Result<ir::Opportunity> Search::propose(ir::Opportunity opportunity) {
  TIK_CHECK(impl_->writable());
  TIK_CHECK(may_propose(impl_->state, impl_->specification, opportunity));
  TIK_TRY(ir::Opportunity recorded, impl_->store.append(std::move(opportunity)));
  TIK_CHECK(refresh(impl_->state, impl_->store));
  return recorded;
}

Result<ir::Withdrawal> Search::withdraw(ir::Withdrawal withdrawal) {
  TIK_CHECK(impl_->writable());
  TIK_CHECK(may_withdraw(impl_->state, withdrawal));
  TIK_TRY(ir::Withdrawal recorded, impl_->store.append(std::move(withdrawal)));
  TIK_CHECK(refresh(impl_->state, impl_->store));
  return recorded;
}

Result<ir::ModelUsage> Search::record_usage(ir::ModelUsage usage) {
  TIK_CHECK(impl_->writable());
  TIK_TRY(ir::ModelUsage recorded, impl_->store.append(std::move(usage)));
  TIK_CHECK(refresh(impl_->state, impl_->store));
  return recorded;
}

} // namespace tik::search
