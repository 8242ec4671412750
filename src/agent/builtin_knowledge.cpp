#include "src/agent/builtin_knowledge.h"

#include <algorithm>
#include <cmath>

namespace tik::agent {
namespace {

// How far the total would move if every workload were off by its spread, as a median of that many samples is.
double total_noise(spec::Specification const& specification, evaluator::Report const& report, double total_us) {
  double variance = 0;
  for (evaluator::WorkloadMeasurement const& entry : report.workloads) {
    spec::Workload const* const workload = specification.find_workload(entry.id);
    if (!workload || entry.samples_us.empty() || entry.median_us <= 0 || entry.ratio <= 0) continue;
    bool const beside = !entry.incumbent_samples_us.empty();
    double const relative = (beside ? entry.ratio_spread / entry.ratio : entry.spread_us / entry.median_us);
    double const share =
        workload->weight * entry.latency_us * relative / std::sqrt(static_cast<double>(entry.samples_us.size()));
    variance += share * share;
  }
  return total_us > 0 ? 1.5 * std::sqrt(variance) / total_us : 0; // a median deviation is two thirds of a standard deviation
}

} // namespace

Result<void> Knowledge::learn(View const& view) {
  if (trials_.empty() && view.state.root) {
    TIK_TRY(ir::Implementation const root, view.store.implementation(*view.state.root));
    TIK_TRY(Tree const tree, read_tree(view.sources, root.commit));
    manifest_ = root.manifest;
    root_ = configuration_of(tree, manifest_, {});
  }
  auto const first_unread =
      trials_.empty() ? view.state.implementations.begin() : view.state.implementations.upper_bound(trials_.rbegin()->first);
  for (auto entry = first_unread; entry != view.state.implementations.end(); ++entry)
    if (entry->second.audited) TIK_CHECK(read_trial(view, entry->first));
  for (ir::OpportunityId const id : view.state.pending) {
    if (opportunities_.contains(id)) continue;
    TIK_TRY(opportunities_[id], view.store.opportunity(id));
  }
  return {};
}

Result<void> Knowledge::read_trial(View const& view, ir::ImplementationId id) {
  search::ImplementationState const& state = view.state.implementations.at(id);
  TIK_TRY(ir::Implementation const implementation, view.store.implementation(id));
  TIK_TRY(Tree const tree, read_tree(view.sources, implementation.commit));
  TIK_TRY(ir::Audit const audit, view.store.audit(*state.audit));
  Trial trial;
  trial.id = id;
  trial.audit = audit.id;
  trial.commit = implementation.commit;
  trial.parents = state.parents;
  std::set<std::string> rewrites;
  for (ir::ImplementationId const parent : state.parents) rewrites.merge(std::set(trials_.at(parent).configuration.rewrites));
  if (state.action) {
    TIK_TRY(ir::Action const action, view.store.action(*state.action));
    TIK_TRY(ir::Opportunity const opportunity, view.store.opportunity(action.opportunity));
    if (state.parents.size() == 1) trial.moves = from_notes(opportunity.hint);
    for (Move const& move : trial.moves)
      if (move.kind == Move::Kind::rewrite) rewrites.insert(move.name);
  }
  trial.configuration = configuration_of(tree, manifest_, std::move(rewrites));
  if (state.parents.size() == 2)
    trial.moves = missing_moves(trials_.at(state.parents[0]).configuration, trial.configuration, root_);
  trial.available = available_moves(tree, manifest_, trial.configuration, root_);
  trial.verified = state.verified;
  trial.measured = state.measured;
  trial.within_limits = state.within_limits;
  trial.total_us = state.total_us.value_or(0);
  for (evaluator::Stage const& stage : audit.report.stages) {
    if (stage.outcome != evaluator::Outcome::failed || !trial.failed_stage.empty()) continue;
    trial.failed_stage = stage.name;
    trial.failure = stage.message;
  }
  for (evaluator::WorkloadMeasurement const& entry : audit.report.workloads) trial.latency_us[entry.id] = entry.latency_us;
  trial.noise = total_noise(view.specification, audit.report, trial.total_us);
  trial.symptoms = symptoms_of(audit.report);
  trials_.emplace(id, std::move(trial));
  return {};
}

std::vector<Trial const*> Knowledge::failures_of(Move const& move) const {
  std::vector<Trial const*> failures;
  for (auto const& [id, trial] : trials_)
    if (!trial.verified && std::find(trial.moves.begin(), trial.moves.end(), move) != trial.moves.end())
      failures.push_back(&trial);
  return failures;
}

std::vector<Trial const*> Knowledge::one_sided_failures(std::string const& risk) const {
  std::vector<Trial const*> failures;
  for (auto const& [id, trial] : trials_) {
    if (trial.failed_stage != "consistency" || trial.moves.size() != 1) continue;
    Declaration const declaration = declaration_of(manifest_, trial.moves.front());
    if (declaration.parts_the_entry_points() && declaration.risk == risk) failures.push_back(&trial);
  }
  return failures;
}

bool Knowledge::tried(std::string const& name) const {
  return std::any_of(trials_.begin(), trials_.end(), [&](auto const& entry) {
    return std::any_of(entry.second.moves.begin(), entry.second.moves.end(),
                       [&](Move const& move) { return move.name == name; });
  });
}

bool Knowledge::result_known(Trial const& base, std::vector<Move> const& moves) const {
  Configuration expected = base.configuration;
  for (Move const& move : moves) {
    if (move.kind == Move::Kind::rewrite)
      expected.rewrites.insert(move.name);
    else
      expected.values[move.name] = move.value;
  }
  return std::any_of(trials_.begin(), trials_.end(), [&](auto const& entry) {
    Configuration const& known = entry.second.configuration;
    return known.rewrites == expected.rewrites &&
           std::all_of(expected.values.begin(), expected.values.end(), [&](auto const& value) {
             auto const found = known.values.find(value.first);
             return found != known.values.end() && found->second == value.second;
           });
  });
}

bool Knowledge::is_ancestor(ir::ImplementationId ancestor, Trial const& trial) const {
  std::set<ir::ImplementationId> seen;
  std::vector<ir::ImplementationId> open = trial.parents;
  while (!open.empty()) {
    ir::ImplementationId const id = open.back();
    open.pop_back();
    if (id == ancestor) return true;
    if (id < ancestor || !seen.insert(id).second) continue; // parents are older than their offspring
    std::vector<ir::ImplementationId> const& parents = trials_.at(id).parents;
    open.insert(open.end(), parents.begin(), parents.end());
  }
  return false;
}

} // namespace tik::agent
