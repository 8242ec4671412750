#include "src/agent/builtin_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tik::agent {
namespace {

using ir::to_string;

// The largest changes by workload between two measured trials, at most three, those beyond one percent.
std::string largest_changes(Trial const& before, Trial const& after) {
  std::vector<std::pair<double, std::string>> changes;
  for (auto const& [workload, latency_us] : after.latency_us) {
    auto const was = before.latency_us.find(workload);
    if (was != before.latency_us.end()) changes.emplace_back(latency_us / was->second - 1, workload);
  }
  std::sort(changes.begin(), changes.end(), [](auto const& a, auto const& b) { return std::abs(a.first) > std::abs(b.first); });
  std::string text;
  for (std::size_t i = 0; i < changes.size() && i < 3; ++i)
    if (std::abs(changes[i].first) > 0.01) text += fmt::format("; {} {:+.1f}%", changes[i].second, 100 * changes[i].first);
  return text;
}

std::string over_limits(View const& view, Knowledge const& knowledge, Trial const& trial) {
  std::string text;
  Trial const& root = knowledge.trial(*view.state.root);
  for (spec::Workload const& workload : view.specification.workloads) {
    auto const latency = trial.latency_us.find(workload.id);
    auto const baseline = root.latency_us.find(workload.id);
    if (latency == trial.latency_us.end() || baseline == root.latency_us.end()) continue;
    if (latency->second > workload.max_slowdown * baseline->second)
      text += fmt::format("{}{} at {:.2f} times its baseline", text.empty() ? "" : ", ", workload.id,
                          latency->second / baseline->second);
  }
  return text;
}

std::vector<ir::NumericalRisk> risks_of(Knowledge const& knowledge, std::vector<Move> const& moves) {
  std::vector<ir::NumericalRisk> risks;
  for (Move const& move : moves) {
    Declaration const declaration = declaration_of(knowledge.manifest(), move);
    auto const risk = spec::numerical_class_from(declaration.risk);
    if (!risk) continue;
    risks.push_back({*risk, declaration.entry_points.size() == 1
                                ? fmt::format("{} changes {} alone: the other entry point may no longer agree", words(move),
                                              spec::to_string(declaration.entry_points.front()))
                                : fmt::format("{} changes both entry points alike", words(move))});
  }
  return risks;
}

std::string join(std::vector<std::string> const& list) {
  std::string text;
  for (std::string const& entry : list) text += (text.empty() ? "" : ", ") + entry;
  return text;
}

} // namespace

std::string change_in_words(double a, double b) { return fmt::format("{:+.1f}%", 100 * (b / a - 1)); }

std::string interpretation(View const& view, Knowledge const& knowledge, Trial const& trial) {
  std::string const audit = to_string(trial.audit), id = to_string(trial.id);
  if (!trial.verified)
    return fmt::format("{}: {} is not verified: its {} failed. {}", audit, id, trial.failed_stage, trial.failure);
  if (!trial.measured) return fmt::format("{}: {} is verified, but not every workload was measured.", audit, id);
  if (trial.parents.empty())
    return fmt::format("{}: the root is verified and takes T = {:.1f} us over {} workloads (noise {:.1f}%).", audit,
                       trial.total_us, trial.latency_us.size(), 100 * trial.noise);
  Trial const& parent = knowledge.trial(trial.parents.front());
  std::string const limits = over_limits(view, knowledge, trial);
  return fmt::format("{}: {} is verified. With {}, T is {:.1f} us, {} against {} ({:.1f} us; noise {:.1f}%){}.{}", audit, id,
                     words(trial.moves), trial.total_us, change_in_words(parent.total_us, trial.total_us), to_string(parent.id),
                     parent.total_us, 100 * trial.noise, largest_changes(parent, trial),
                     limits.empty() ? "" : " Over its limit: " + limits + ".");
}

std::vector<spec::EntryPoint> touched_entry_points(Knowledge const& knowledge, std::vector<Move> const& moves) {
  std::vector<spec::EntryPoint> touched;
  for (Move const& move : moves)
    for (spec::EntryPoint const entry_point : declaration_of(knowledge.manifest(), move).entry_points)
      if (std::find(touched.begin(), touched.end(), entry_point) == touched.end()) touched.push_back(entry_point);
  return touched;
}

std::vector<std::string> touched_workloads(View const& view, Knowledge const& knowledge, std::vector<Move> const& moves) {
  std::vector<spec::EntryPoint> const entry_points = touched_entry_points(knowledge, moves);
  std::vector<std::string> touched;
  for (spec::Workload const& workload : view.specification.workloads)
    if (std::find(entry_points.begin(), entry_points.end(), workload.entry_point()) != entry_points.end())
      touched.push_back(workload.id);
  return touched;
}

ir::Opportunity describe(View const& view, Knowledge const& knowledge, Candidate const& candidate, Estimate const& expected,
                         ir::Opportunity::Kind kind) {
  Trial const& base = knowledge.trial(candidate.base);
  ir::Opportunity opportunity;
  opportunity.kind = kind;
  opportunity.implementations = {candidate.base};
  opportunity.evidence = {base.audit};
  opportunity.workloads = touched_workloads(view, knowledge, candidate.moves);
  opportunity.entry_points = touched_entry_points(knowledge, candidate.moves);
  opportunity.hint = to_notes(candidate.moves);
  if (candidate.other) {
    Trial const& other = knowledge.trial(*candidate.other);
    opportunity.implementations.push_back(other.id);
    opportunity.evidence.push_back(other.audit);
    opportunity.mechanism =
        fmt::format("Bring {} of {} into {}: {}.", words(candidate.moves), to_string(other.id), to_string(base.id),
                    kind == ir::Opportunity::Kind::reactivate
                        ? "it was no gain where it was tried, and may be one beside what was found since"
                        : "the two branches change different things, so their gains should add up");
    Trial const& parent = knowledge.trial(other.parents.empty() ? other.id : other.parents.front());
    opportunity.evidence_note = fmt::format("{} made T {} against {} ({}); {} has T = {:.1f} us without it.",
                                            to_string(other.audit), change_in_words(parent.total_us, other.total_us),
                                            to_string(parent.id), to_string(parent.audit), to_string(base.id), base.total_us);
    return opportunity;
  }
  Move const& move = candidate.moves.front();
  Declaration const declaration = declaration_of(knowledge.manifest(), move);
  opportunity.mechanism = fmt::format("{}: {}", words(move), declaration.mechanism);
  auto const symptom = base.symptoms.find(declaration.helps);
  opportunity.evidence_note =
      symptom != base.symptoms.end()
          ? fmt::format("{}: {}", to_string(base.audit), symptom->second.note)
          : fmt::format("{}: {} takes T = {:.1f} us", to_string(base.audit), to_string(base.id), base.total_us);
  opportunity.evidence_note += fmt::format("; the change is {}.", expected.grounds);
  for (auto const& [id, trial] : knowledge.trials())
    if (trial.moves == candidate.moves && trial.audit != base.audit && opportunity.evidence.size() < 4)
      opportunity.evidence.push_back(trial.audit);
  return opportunity;
}

ActionDraft describe_action(View const& view, Knowledge const& knowledge, Candidate const& candidate, Estimate const& expected,
                            ir::Opportunity const& opportunity) {
  Trial const& base = knowledge.trial(candidate.base);
  ActionDraft draft;
  draft.opportunity = opportunity.id;
  draft.parents = {candidate.base};
  if (candidate.other) draft.parents.push_back(*candidate.other);
  draft.workloads = touched_workloads(view, knowledge, candidate.moves);
  for (spec::EntryPoint const entry_point : touched_entry_points(knowledge, candidate.moves))
    for (spec::Variant const& variant : knowledge.manifest().variants)
      if (variant.entry_point == entry_point) draft.variants.push_back(variant.name);
  draft.scope = candidate.other ? fmt::format("merges {} of {} into {}", words(candidate.moves), to_string(*candidate.other),
                                              to_string(candidate.base))
                                : fmt::format("sets {} on {}", words(candidate.moves), to_string(candidate.base));
  draft.expected_effect = fmt::format("{} Expected: T {} against {} ({}).", opportunity.mechanism,
                                      change_in_words(base.total_us, expected.total_us), to_string(base.id), expected.grounds);
  draft.contradiction =
      fmt::format("T not below {:.1f} us, that is no lower latency in {}; or a bit that differs between full and decode.",
                  base.total_us, join(draft.workloads));
  draft.risks = risks_of(knowledge, candidate.moves);
  return draft;
}

} // namespace tik::agent
