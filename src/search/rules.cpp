#include "src/search/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/evaluator/statistics.h"

namespace tik::search {
namespace {

bool contains(auto const& range, auto const& value) { return std::find(range.begin(), range.end(), value) != range.end(); }

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

template <class Ids>
std::string list(Ids const& ids) {
  std::string text;
  for (auto const& id : ids) text += (text.empty() ? "" : ", ") + to_string(id);
  return text.empty() ? "none" : text;
}

// The implementation's state, or a sentence that it is not there.
Result<ImplementationState const*> find(State const& state, ir::ImplementationId id) {
  auto const found = state.implementations.find(id);
  if (found != state.implementations.end()) return &found->second;
  return input_error(fmt::format("{} is not an implementation of this search; it has {} to {}.", to_string(id),
                                 state.implementations.empty() ? "none" : to_string(state.implementations.begin()->first),
                                 state.implementations.empty() ? "none" : to_string(state.implementations.rbegin()->first)));
}

Result<ir::ImplementationId> audited_implementation(State const& state, ir::AuditId audit) {
  if (auto const found = state.audits.find(audit); found != state.audits.end()) return found->second;
  return input_error(fmt::format("{} is not an audit of this search; the last one is {}.", to_string(audit),
                                 state.audits.empty() ? "none" : to_string(state.audits.rbegin()->first)));
}

Result<void> known_workloads(spec::Specification const& specification, std::vector<std::string> const& workloads) {
  for (std::string const& id : workloads) {
    if (specification.find_workload(id)) continue;
    std::string known;
    for (spec::Workload const& workload : specification.workloads) known += (known.empty() ? "" : ", ") + workload.id;
    return input_error(fmt::format("\"{}\" is not a workload of the specification; it has {}.", id, known));
  }
  return {};
}

} // namespace

// "An unverified implementation is never a parent, never in the frontier or archive, never promoted." An archived one comes
// back by a decision to reactivate it, with its reason, before anything is built on it.
Result<void> may_be_parents(State const& state, std::vector<ir::ImplementationId> const& parents) {
  if (parents.empty() || parents.size() > 2)
    return input_error(fmt::format("An action has one parent, or two for a merge, not {}.", parents.size()));
  if (parents.size() == 2 && parents[0] == parents[1])
    return input_error(fmt::format("{} cannot be merged with itself: name two different parents.", to_string(parents[0])));
  for (ir::ImplementationId const parent : parents) {
    TIK_TRY(ImplementationState const* implementation, find(state, parent));
    std::string const id = to_string(parent);
    std::string const remedy = fmt::format("choose a parent from the frontier: {}.", list(state.frontier));
    if (!implementation->audited)
      return input_error(fmt::format("{} cannot be a parent: it is not audited yet; {}", id, remedy));
    if (!implementation->verified)
      return input_error(
          fmt::format("{} cannot be a parent: {} did not verify it; {}", id, to_string(*implementation->audit), remedy));
    if (state.frontier.contains(parent)) continue;
    if (state.archive.contains(parent))
      return input_error(
          fmt::format("{} cannot be a parent: it is archived; decide to reactivate it first, or {}", id, remedy));
    if (implementation->status == ir::BranchStatus::abandoned)
      return input_error(fmt::format("{} cannot be a parent: its branch was abandoned; {}", id, remedy));
    return input_error(fmt::format("{} cannot be a parent: no decision about its branch is recorded yet; {}", id, remedy));
  }
  return {};
}

Result<void> may_take(State const& state, ir::OpportunityId opportunity, std::vector<ir::ImplementationId> const& parents) {
  auto const found = state.opportunities.find(opportunity);
  if (found == state.opportunities.end())
    return input_error(
        fmt::format("{} is not an opportunity of this search; pending are {}.", to_string(opportunity), list(state.pending)));
  OpportunityState const& taken = found->second;
  if (!taken.pending)
    return input_error(fmt::format("{} is not pending: {}; choose one of {}.", to_string(opportunity),
                                   taken.actions.empty() ? "it was withdrawn" : "taken by " + list(taken.actions),
                                   list(state.pending)));
  auto const named = [&](ir::ImplementationId parent) { return contains(taken.implementations, parent); };
  if (taken.kind == ir::Opportunity::Kind::merge &&
      (parents.size() != 2 || !std::all_of(parents.begin(), parents.end(), named)))
    return input_error(fmt::format("{} is a merge of {}: an action that takes it has exactly these as parents, not {}.",
                                   to_string(opportunity), list(taken.implementations), list(parents)));
  if (std::none_of(parents.begin(), parents.end(), named))
    return input_error(fmt::format("{} applies to {}, and none of the parents {} is among them.", to_string(opportunity),
                                   list(taken.implementations), list(parents)));
  return {};
}

Result<void> action_is_complete(spec::Specification const& specification, agent::ActionDraft const& draft,
                                ir::Difference const& difference) {
  if (difference.files.empty())
    return input_error("The action changes nothing: its source is that of its parent; edit the source first.");
  if (is_blank(draft.scope)) return input_error("The action's scope is empty: say in words what is changed.");
  if (is_blank(draft.expected_effect))
    return input_error("The action's expected_effect is empty: say what the change does to how the hardware is used.");
  if (is_blank(draft.contradiction))
    return input_error("The action's contradiction is empty: name the measurement that would contradict its rationale.");
  if (draft.workloads.empty()) return input_error("The action targets no workload: name at least one of the specification.");
  return known_workloads(specification, draft.workloads);
}

// "Promotion needs: verified, every workload measured, every limit met, strictly lower T. Ties and failures count towards
// patience."
bool is_promoted(State const& state, ir::AuditEvent const& audit) {
  if (!audit.verified || !audit.measured || !audit.within_limits || !audit.total_us) return false;
  return !state.incumbent || *audit.total_us < state.incumbent_total_us;
}

bool would_be_promoted(spec::Specification const& specification, std::map<std::string, double> const& incumbent_us,
                       double incumbent_total_us, evaluator::Report const& report) {
  std::optional<double> const total = report.total_us(specification);
  return report.verified() && total && *total < incumbent_total_us && within_limits(specification, incumbent_us, report);
}

bool within_limits(spec::Specification const& specification, std::map<std::string, double> const& baseline_us,
                   evaluator::Report const& report) {
  return std::all_of(specification.workloads.begin(), specification.workloads.end(), [&](spec::Workload const& workload) {
    auto const baseline = baseline_us.find(workload.id);
    auto const measured = std::find_if(report.workloads.begin(), report.workloads.end(),
                                       [&](evaluator::WorkloadMeasurement const& entry) { return entry.id == workload.id; });
    return baseline != baseline_us.end() && measured != report.workloads.end() &&
           measured->latency_us <= workload.max_slowdown * baseline->second;
  });
}

namespace {

// Half the width of the 95 % interval of T, as a share of T: from the totals of the single rounds, each beside the incumbent of
// the same round where there was one.
double total_uncertainty(spec::Specification const& specification, evaluator::Report const& report) {
  std::size_t rounds = 0;
  for (evaluator::WorkloadMeasurement const& entry : report.workloads) {
    rounds = rounds == 0 ? entry.samples_us.size() : std::min(rounds, entry.samples_us.size());
    if (!entry.incumbent_samples_us.empty()) rounds = std::min(rounds, entry.incumbent_samples_us.size());
  }
  std::vector<double> totals(rounds, 0.0);
  for (evaluator::WorkloadMeasurement const& entry : report.workloads) {
    spec::Workload const* const workload = specification.find_workload(entry.id);
    if (workload == nullptr) continue;
    bool const beside = !entry.incumbent_samples_us.empty() && entry.ratio > 0;
    for (std::size_t round = 0; round < rounds; ++round)
      totals[round] += workload->weight *
                       (beside ? entry.latency_us / entry.ratio * entry.samples_us[round] / entry.incumbent_samples_us[round]
                               : entry.samples_us[round]);
  }
  double const middle = evaluator::median(totals);
  return middle > 0 ? evaluator::median_uncertainty(totals) / middle : 0;
}

} // namespace

bool is_settled(spec::Specification const& specification, evaluator::Report const& report,
                std::string const& incumbent_source_sha256, evaluator::Report const& incumbent) {
  std::optional<double> const total = report.total_us(specification), best = incumbent.total_us(specification);
  if (!report.verified() || !total || !best || *total >= *best) return true;
  if (report.incumbent_sha256 == incumbent_source_sha256) return true;
  double const uncertainty = total_uncertainty(specification, report) + total_uncertainty(specification, incumbent);
  return 1 - *total / *best > std::max(uncertainty, specification.measurement.noise);
}

// "The search starts only after compilation and execution succeed, every mandatory correctness check passes, all required
// workloads are measured, and the root satisfies the per-workload latency limits." (paper, section 5)
Result<void> may_start(spec::Specification const& specification, evaluator::Report const& root_report) {
  for (evaluator::Stage const& stage : root_report.stages)
    if (stage.outcome == evaluator::Outcome::failed)
      return input_error(fmt::format("The root implementation is refused: its {} failed: {}", stage.name, stage.message));
  if (!root_report.verified())
    return input_error("The root implementation is refused: not every prescribed check was carried out.");
  std::map<std::string, double> own;
  for (evaluator::WorkloadMeasurement const& entry : root_report.workloads) own[entry.id] = entry.latency_us;
  for (spec::Workload const& workload : specification.workloads) {
    if (!own.contains(workload.id))
      return input_error(fmt::format("The root implementation is refused: workload \"{}\" has no latency.", workload.id));
  }
  if (!root_report.measured(specification))
    return input_error("The root implementation is refused: its measurement is not complete.");
  if (!within_limits(specification, own, root_report))
    return input_error(
        "The root implementation is refused: a workload has max_slowdown < 1, which not even its own baseline meets.");
  return {};
}

namespace {

// The implementation and all that it was derived from.
std::set<ir::ImplementationId> line_of(State const& state, ir::ImplementationId id) {
  std::set<ir::ImplementationId> line = {id};
  for (std::vector<ir::ImplementationId> open = {id}; !open.empty();) {
    ir::ImplementationId const next = open.back();
    open.pop_back();
    for (ir::ImplementationId const parent : state.implementations.at(next).parents)
      if (line.insert(parent).second) open.push_back(parent);
  }
  return line;
}

// Whether an audited implementation is an attempt on a branch's line: the branch itself, or made from what is on the line.
bool attempts(State const& state, std::set<ir::ImplementationId> const& line, ir::ImplementationId branch,
              ir::ImplementationId audited) {
  auto const& parents = state.implementations.at(audited).parents;
  return audited == branch || std::any_of(parents.begin(), parents.end(), [&](auto id) { return line.contains(id); });
}

// The audit says that the direction does not pay: verified, and over a limit or not faster than a parent.
bool contradicts(State const& state, ir::ImplementationId audited) {
  ImplementationState const& implementation = state.implementations.at(audited);
  if (!implementation.verified || !implementation.measured) return false;
  if (!implementation.within_limits) return true;
  return std::any_of(implementation.parents.begin(), implementation.parents.end(), [&](ir::ImplementationId parent) {
    auto const& total = state.implementations.at(parent).total_us;
    return total && implementation.total_us && *implementation.total_us >= *total;
  });
}

} // namespace

// "Abandon stops work only after repeated retries remain unverified or the audit evidence falsifies the optimization
// direction." (paper, section 5) The evidence is the audit that was read and those that the decision names, about attempts on
// that branch.
Result<void> may_abandon(State const& state, ir::ImplementationId branch, std::set<ir::ImplementationId> const& audited) {
  std::set<ir::ImplementationId> const line = line_of(state, branch);
  int failures = 0;
  bool contradicted = false;
  for (ir::ImplementationId const id : audited) {
    if (!attempts(state, line, branch, id)) continue;
    failures += state.implementations.at(id).verified ? 0 : 1;
    contradicted |= contradicts(state, id);
  }
  if (failures >= 2 || contradicted) return {};
  return input_error(
      fmt::format("{} cannot be abandoned: that needs at least two failed attempts on its branch, or one that was measured and "
                  "did not pay, among "
                  "the evidence; name their audits, or archive it.",
                  to_string(branch)));
}

// "If an offspring fails, revisions must start from a retained verified parent, not that offspring." (paper, section 5) So the
// first decision on an audit is about the audited offspring or, when that failed, may be about one of its parents.
Result<void> leads(State const& state, ir::AuditId audit, agent::DecisionDraft const& draft) {
  TIK_TRY(ir::ImplementationId const audited, audited_implementation(state, audit));
  if (draft.implementation == audited) return {};
  ImplementationState const& offspring = state.implementations.at(audited);
  if (!offspring.verified && contains(offspring.parents, draft.implementation)) return {};
  return input_error(
      fmt::format("The first decision on {} must be about {}{}, not about {}.", to_string(audit), to_string(audited),
                  offspring.verified ? "" : " or, since that failed, a parent of it (" + list(offspring.parents) + ")",
                  to_string(draft.implementation)));
}

Result<void> may_decide(State const& state, ir::AuditId audit, agent::DecisionDraft const& draft) {
  TIK_TRY(ImplementationState const* implementation, find(state, draft.implementation));
  std::string const id = to_string(draft.implementation);
  if (is_blank(draft.interpretation))
    return input_error(fmt::format("The decision about {} has no interpretation of the audit.", id));
  if (is_blank(draft.reason)) return input_error(fmt::format("The decision about {} has no reason.", id));
  std::set<ir::ImplementationId> audited;
  std::vector<ir::AuditId> evidence = draft.evidence;
  evidence.push_back(audit);
  for (ir::AuditId const entry : evidence) {
    TIK_TRY(ir::ImplementationId const about, audited_implementation(state, entry));
    audited.insert(about);
  }
  if (!implementation->audited)
    return input_error(fmt::format("{} is not audited yet: there is nothing to decide about it.", id));
  if (draft.status == ir::BranchStatus::abandoned) {
    if (implementation->status == ir::BranchStatus::abandoned) return input_error(fmt::format("{} is abandoned already.", id));
    return may_abandon(state, draft.implementation, audited);
  }
  if (!implementation->verified)
    return input_error(
        fmt::format("The branch of {} cannot be given the status {}: {} did not verify it; continue from a verified parent "
                    "instead, or abandon it after repeated failures.",
                    id, to_string(draft.status), to_string(*implementation->audit)));
  bool const archived = state.archive.contains(draft.implementation);
  if (implementation->status == ir::BranchStatus::abandoned)
    return input_error(fmt::format("{} was abandoned: its branch takes no further status.", id));
  if (draft.status == ir::BranchStatus::reactivated && !archived)
    return input_error(fmt::format("{} cannot be reactivated: it is not archived; archived are {}.", id, list(state.archive)));
  if (archived && (draft.status == ir::BranchStatus::continued || draft.status == ir::BranchStatus::merge))
    return input_error(
        fmt::format("{} is archived: reactivate it rather than give it the status {}.", id, to_string(draft.status)));
  return {};
}

// "Each opportunity references one or more verified implementations to which it may apply and supporting audit evidence."
// (paper, section 4.3)
Result<void> may_propose(State const& state, spec::Specification const& specification, ir::Opportunity const& opportunity) {
  if (is_blank(opportunity.mechanism))
    return input_error("The opportunity has no mechanism: say what to change and why it should pay.");
  if (opportunity.workloads.empty() && opportunity.entry_points.empty())
    return input_error("The opportunity names neither a workload nor an entry point that it affects.");
  TIK_CHECK(known_workloads(specification, opportunity.workloads));
  if (opportunity.evidence.empty())
    return input_error("The opportunity rests on no audit: name at least one that supports it.");
  for (ir::AuditId const audit : opportunity.evidence) TIK_CHECK(audited_implementation(state, audit));
  if (opportunity.implementations.empty()) return input_error("The opportunity names no implementation that it may apply to.");
  for (ir::ImplementationId const id : opportunity.implementations) {
    TIK_TRY(ImplementationState const* implementation, find(state, id));
    if (!implementation->verified)
      return input_error(fmt::format("The opportunity names {}, which is not verified.", to_string(id)));
  }
  if (opportunity.kind == ir::Opportunity::Kind::merge &&
      (opportunity.implementations.size() != 2 || opportunity.implementations[0] == opportunity.implementations[1]))
    return input_error(
        fmt::format("A merge opportunity names two different implementations, not {}.", list(opportunity.implementations)));
  if (opportunity.kind == ir::Opportunity::Kind::reactivate &&
      std::none_of(opportunity.implementations.begin(), opportunity.implementations.end(),
                   [&](ir::ImplementationId id) { return state.archive.contains(id); }))
    return input_error(
        fmt::format("An opportunity to reactivate names an archived implementation; archived are {}.", list(state.archive)));
  return {};
}

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::patience:
      return "patience";
    case StopReason::steps:
      return "steps";
    case StopReason::seconds:
      return "seconds";
    case StopReason::tokens:
      return "tokens";
    case StopReason::no_opportunity:
      return "no opportunity";
    case StopReason::interrupted:
      return "interrupted";
  }
  return "unknown";
}

std::optional<StopReason> should_stop(spec::Stopping const& stopping, State const& state, double elapsed_seconds) {
  if (state.patience_used >= stopping.patience) return StopReason::patience;
  if (stopping.steps && state.steps >= *stopping.steps) return StopReason::steps;
  if (stopping.seconds && elapsed_seconds >= *stopping.seconds) return StopReason::seconds;
  if (stopping.tokens && state.model_tokens >= *stopping.tokens) return StopReason::tokens;
  return std::nullopt;
}

} // namespace tik::search
