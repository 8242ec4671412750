// Lineage management and opportunities: decisions, follow-ups, withdrawals.
#include <fmt/format.h>

#include <algorithm>

#include "src/agent/opportunity_words.h"
#include "src/agent/toolbox.h"
#include "src/ir/any_id.h"
#include "src/search/reach.h"

namespace tik::agent {
namespace {

Result<ir::Opportunity> opportunity_of(Arguments const& arguments) {
  return make_opportunity({arguments.text("kind", "change"), arguments.text("mechanism"), arguments.text("note"),
                           arguments.texts("workloads"), arguments.texts("entry_points"), arguments.texts("evidence"),
                           arguments.texts("implementations")});
}

Result<DecisionDraft> decision_of(Arguments const& arguments, search::State const& state, ir::AuditId audit) {
  DecisionDraft draft;
  draft.interpretation = arguments.text("interpretation");
  draft.reason = arguments.text("reason");
  if (arguments.has("implementation")) {
    TIK_TRY(draft.implementation, ir::parse_id<'I'>(arguments.text("implementation")));
  } else if (auto const audited = state.audits.find(audit); audited != state.audits.end()) {
    draft.implementation = audited->second;
  }
  if (arguments.has("status")) {
    TIK_TRY(draft.status, ir::branch_status_from(arguments.text("status")));
  }
  TIK_TRY(draft.evidence, ir::parse_ids<'U'>(arguments.texts("evidence")));
  for (Arguments const& follow_up : arguments.objects("follow_ups")) {
    TIK_TRY(ir::Opportunity opportunity, opportunity_of(follow_up));
    draft.follow_ups.push_back(std::move(opportunity));
  }
  return draft;
}

// Without lineage management: "Each modification starts from the current best; implementations that do not replace it cannot be
// continued, reactivated, or merged." (paper, ablations) So the status follows from the audit, and what was active before a
// promotion is archived.
void decide_by_promotion(search::State const& state, ir::AuditId audit, ManagementDraft& draft) {
  ir::ImplementationId const audited = state.audits.at(audit);
  search::ImplementationState const& offspring = state.implementations.at(audited);
  DecisionDraft& decision = draft.decisions.front();
  decision.implementation = offspring.verified || offspring.parents.empty() ? audited : offspring.parents.front();
  decision.status = offspring.promoted || !offspring.verified ? ir::BranchStatus::continued : ir::BranchStatus::archived;
  if (!offspring.promoted) return;
  for (ir::ImplementationId const earlier : state.frontier)
    if (earlier != audited)
      draft.decisions.push_back({earlier,
                                 fmt::format("{} replaced it as the incumbent", to_string(audited)),
                                 ir::BranchStatus::archived,
                                 "only the incumbent is continued",
                                 {},
                                 {}});
}

// Where every action starts from the incumbent, opportunities that a former incumbent left are carried over to the new one.
Result<void> carry_over(View const& view, ir::AuditId audit, ManagementDraft& draft) {
  ir::ImplementationId const incumbent = view.state.audits.at(audit);
  if (!view.state.implementations.at(incumbent).promoted || incumbent == view.state.root) return {};
  for (ir::OpportunityId const id : view.state.pending) {
    auto const& names = view.state.opportunities.at(id).implementations;
    bool const withdrawn = std::any_of(draft.withdrawals.begin(), draft.withdrawals.end(),
                                       [&](auto const& entry) { return entry.opportunity == id; });
    if (withdrawn || std::find(names.begin(), names.end(), incumbent) != names.end()) continue;
    TIK_TRY(ir::Opportunity opportunity, view.store.opportunity(id));
    opportunity.kind = ir::Opportunity::Kind::change;
    opportunity.implementations = {incumbent};
    draft.withdrawals.push_back({id, fmt::format("carried over to {}, the new incumbent", to_string(incumbent)), ""});
    draft.decisions.front().follow_ups.push_back(std::move(opportunity));
  }
  return {};
}

// Without opportunities every action still links to one; this one says what it stands for.
ir::Opportunity direct_opportunity(View const& view, ir::AuditId audit, ManagementDraft const& draft) {
  std::set<ir::ImplementationId> const active = search::frontier_after(view.state, draft);
  ir::Opportunity opportunity;
  opportunity.mechanism = "Opportunities are withheld: a modification proposed directly from the state.";
  for (spec::Workload const& workload : view.specification.workloads) opportunity.workloads.push_back(workload.id);
  opportunity.evidence = {audit};
  opportunity.implementations.assign(active.begin(), active.end());
  return opportunity;
}

} // namespace

Result<std::string> Toolbox::decide(Arguments const& arguments) {
  View const view = desk_.view();
  std::optional<ir::AuditId> audit = view.state.awaiting_decision;
  if (arguments.has("audit")) {
    TIK_TRY(audit, ir::parse_id<'U'>(arguments.text("audit")));
    TIK_CHECK(sight().may_see(*audit));
  }
  if (!audit) return input_error("decide: no audit awaits a decision; name the audit that was read.");
  if (!view.state.audits.contains(*audit))
    return input_error(fmt::format("{} is not an audit of this search.", to_string(*audit)));
  ManagementDraft draft;
  for (Arguments const& decision : arguments.objects("decisions")) {
    TIK_TRY(DecisionDraft entry, decision_of(decision, view.state, *audit));
    draft.decisions.push_back(std::move(entry));
  }
  for (Arguments const& withdrawal : arguments.objects("withdrawals")) {
    TIK_TRY(ir::OpportunityId const id, ir::parse_id<'O'>(withdrawal.text("opportunity")));
    draft.withdrawals.push_back({id, withdrawal.text("reason"), ""});
  }
  if (draft.decisions.empty())
    return input_error("decide: decisions: it is empty; the first is about the audited implementation.");
  if (withheld_.lineage) {
    if (draft.decisions.size() > 1)
      return input_error("decide: decisions: one is taken; branches are not managed by this agent.");
    decide_by_promotion(view.state, *audit, draft);
  }
  if (withheld_.opportunities) draft.decisions.front().follow_ups = {direct_opportunity(view, *audit, draft)};
  if ((withheld_.lineage || withheld_.history) && !withheld_.opportunities) TIK_CHECK(carry_over(view, *audit, draft));
  TIK_TRY(Json recorded, desk_.decide(*audit, draft));
  if (withheld_.opportunities) recorded.erase("follow_ups");
  return pretty(recorded);
}

Result<std::string> Toolbox::propose(Arguments const& arguments) {
  TIK_TRY(ir::Opportunity const opportunity, opportunity_of(arguments));
  TIK_TRY(Json const recorded, desk_.propose(opportunity));
  return pretty(recorded);
}

Result<std::string> Toolbox::withdraw(Arguments const& arguments) {
  TIK_TRY(ir::OpportunityId const id, ir::parse_id<'O'>(arguments.text("opportunity")));
  TIK_TRY(Json const recorded, desk_.withdraw({id, arguments.text("reason"), ""}));
  return pretty(recorded);
}

Result<std::string> Toolbox::audit(Arguments const& arguments) {
  TIK_TRY(AuditProgress const progress, desk_.audit(static_cast<double>(arguments.integer("wait_seconds", 20))));
  if (progress.done) {
    View const view = desk_.view();
    TIK_TRY(ir::Audit const audit, view.store.audit(*progress.done));
    Json answer = sight().shown(audit);
    for (ir::AuditId const other : progress.others) answer["audited_with_it"].push_back(to_string(other));
    for (ir::ImplementationId const other : progress.held_back) answer["to_be_audited_again"].push_back(to_string(other));
    answer["next"] = next_step(view.state, false);
    return pretty(answer);
  }
  return pretty({{"running", to_string(progress.implementation)},
                 {"stage", progress.stage},
                 {"fraction_of_stage", progress.fraction},
                 {"seconds", progress.seconds},
                 {"next", "Call audit again to wait for it."}});
}

} // namespace tik::agent
