// What never bends: each rule is one function here, asked by the workflow before anything is recorded, whoever the agent is.
#pragma once

#include "src/agent/agent.h"
#include "src/search/state.h"

namespace tik::search {

// Rule 1: a parent is verified and retained (frontier, or archived and since reactivated).
Result<void> may_be_parents(State const& state, std::vector<ir::ImplementationId> const& parents);
// The opportunity is pending and names at least one of the parents; a merge opportunity names both.
Result<void> may_take(State const& state, ir::OpportunityId opportunity, std::vector<ir::ImplementationId> const& parents);
// The action changes something, its words are complete (scope, effect, contradiction), its workloads exist.
Result<void> action_is_complete(spec::Specification const& specification, agent::ActionDraft const& draft,
                                ir::Difference const& difference);
// Rule 2: verified, every workload measured, every limit met, strictly lower T.
bool is_promoted(State const& state, ir::AuditEvent const& audit);
// The same of a report that no search holds, beside an incumbent whose latencies are the baselines.
bool would_be_promoted(spec::Specification const& specification, std::map<std::string, double> const& incumbent_us,
                       double incumbent_total_us, evaluator::Report const& report);
// Every workload latency within max_slowdown of its fixed baseline.
bool within_limits(spec::Specification const& specification, std::map<std::string, double> const& baseline_us,
                   evaluator::Report const& report);
// Whether an audit's gain or loss can be believed. Measured beside the present incumbent, always: the two ran in the same
// rounds. Measured beside an earlier one, both totals hang on that one's recorded latencies, so they compare; but the two never
// ran side by side, so a gain must exceed the specification's noise and what the rounds of both measurements leave open (95 %).
// `incumbent` is the present one's report.
bool is_settled(spec::Specification const& specification, evaluator::Report const& report,
                std::string const& incumbent_source_sha256, evaluator::Report const& incumbent);
// The root: verified, completely measured, within the limits.
Result<void> may_start(spec::Specification const& specification, evaluator::Report const& root_report);
// The first decision on an audit is about the audited offspring, or about a parent of it when it failed.
Result<void> leads(State const& state, ir::AuditId audit, agent::DecisionDraft const& draft);
// A decision has words and existing evidence, and its status fits its implementation: only verified ones are continued, merged,
// archived or reactivated; only archived ones are reactivated; an abandoned branch stays abandoned.
Result<void> may_decide(State const& state, ir::AuditId audit, agent::DecisionDraft const& draft);
// Abandon needs repeated failures, or an attempt that was measured and did not pay, among the audited implementations that the
// decision names and that are attempts on this branch's line: itself, or made from it or from one of its ancestors.
Result<void> may_abandon(State const& state, ir::ImplementationId branch, std::set<ir::ImplementationId> const& audited);
// An opportunity names a mechanism, verified implementations, existing audits, and existing workloads or entry points; a merge
// names two implementations, a reactivation an archived one.
Result<void> may_propose(State const& state, spec::Specification const& specification, ir::Opportunity const& opportunity);
// The opportunity is pending and the withdrawal has a reason.
Result<void> may_withdraw(State const& state, ir::Withdrawal const& withdrawal);
// All rules on all decisions, follow-ups and withdrawals of one management, against the state before any of them.
Result<void> may_manage(State const& state, spec::Specification const& specification, ir::AuditId audit,
                        agent::ManagementDraft const& draft);
// The form of an action, from the files it changed and their roles in the parent's and the offspring's manifests. The manifest
// itself and files without a role count as shared.
ir::ActionForm action_form(ir::Difference const& difference, spec::Manifest const& before, spec::Manifest const& after);

// "file:first-last" of every changed range, and the bare file name where a file was removed.
std::vector<std::string> changed_regions(ir::Difference const& difference);

// Why a run ended. no_opportunity: the agent found none worth acting on; interrupted: the caller asked for it.
enum class StopReason { patience, steps, seconds, tokens, no_opportunity, interrupted };
std::string_view to_string(StopReason reason);
// The first of patience, steps, seconds and tokens whose limit is reached; seconds as Search::run counts them.
std::optional<StopReason> should_stop(spec::Stopping const& stopping, State const& state, double elapsed_seconds);

} // namespace tik::search
