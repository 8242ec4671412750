#include "src/agent/builtin_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tik::agent {
namespace {

// Priors, in natural logarithms of the latency of the workloads that a move touches. They are optimistic, so that what is
// untried is tried.
constexpr double rewrite_prior = -0.22, tunable_prior = -0.08;
constexpr double supported = 1.6, unsupported = 0.4; // factors on the prior, by what the base's evidence says
constexpr double prior_weight = 0.6;                 // in observations
constexpr double enabled_discount = 0.6;             // of what a move makes possible
constexpr double follow_through = 0.35;              // for the step that a slower one was taken for
constexpr double measured_gain = 0.2;                // for a merge with an active branch: its gain is no guess
constexpr double one_sided_success = 0.2;            // chance that a one-sided numerical change keeps the bits
constexpr double curiosity = 0.8;                    // for asking the evaluator where the constraint binds
constexpr double failure_penalty = 0.3;
constexpr int one_sided_questions = 2;

// How different two configurations are, in moves.
double distance(Configuration const& one, Configuration const& other) {
  double count = 0;
  for (std::string const& name : one.rewrites) count += other.rewrites.contains(name) ? 0 : 1;
  for (std::string const& name : other.rewrites) count += one.rewrites.contains(name) ? 0 : 1;
  for (auto const& [name, value] : one.values) {
    auto const found = other.values.find(name);
    count += found == other.values.end() || found->second != value ? 1 : 0;
  }
  return count;
}

bool touches(Declaration const& declaration, spec::Workload const& workload) {
  return std::find(declaration.entry_points.begin(), declaration.entry_points.end(), workload.entry_point()) !=
         declaration.entry_points.end();
}

// What a move did to the workloads wherever it was the only change, weighted by how near that was.
struct Observed {
  std::map<std::string, double> weighted; // sum of weight times log ratio
  double weight = 0;
  int count = 0;
};

Observed observe(Knowledge const& knowledge, Trial const& base, Move const& move) {
  Observed observed;
  for (auto const& [id, trial] : knowledge.trials()) {
    if (!trial.measured || trial.moves.size() != 1 || trial.parents.empty()) continue;
    Trial const& parent = knowledge.trial(trial.parents.front());
    bool const same = trial.moves.front() == move;
    // The way back of a tunable: what going there cost is what coming back gains.
    auto const was = parent.configuration.values.find(move.name);
    auto const is = base.configuration.values.find(move.name);
    bool const reverse = !same && move.kind == Move::Kind::tunable && trial.moves.front().name == move.name &&
                         was != parent.configuration.values.end() && was->second == move.value &&
                         is != base.configuration.values.end() && trial.moves.front().value == is->second;
    if (!same && !reverse) continue;
    double const weight = 1 / (1 + 0.5 * distance(parent.configuration, base.configuration));
    for (auto const& [workload, latency_us] : trial.latency_us) {
      auto const before = parent.latency_us.find(workload);
      if (before != parent.latency_us.end())
        observed.weighted[workload] += (same ? weight : -weight) * std::log(latency_us / before->second);
    }
    observed.weight += weight;
    ++observed.count;
  }
  return observed;
}

double prior(Knowledge const& knowledge, Trial const& base, Declaration const& declaration, Move const& move) {
  double const plain = (move.kind == Move::Kind::rewrite ? rewrite_prior : tunable_prior) /
                       std::pow(4, domain_steps(knowledge.manifest(), base.configuration, move) - 1);
  auto const symptom = base.symptoms.find(declaration.helps);
  if (symptom == base.symptoms.end()) return plain;
  return plain * (unsupported + (supported - unsupported) * symptom->second.strength);
}

bool contains(std::vector<std::string> const& list, std::string const& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The best of what the base does not have and nobody has tried, and `name` helps to make possible: a gain, discounted for every
// step that lies between.
double potential(Knowledge const& knowledge, Configuration const& base, std::string const& name, std::set<std::string>& seen) {
  if (is_set(base, knowledge.root(), name) || !seen.insert(name).second) return 0;
  std::vector<std::string> const enabled = declaration_of(knowledge.manifest(), {Move::Kind::rewrite, name, ""}).enables;
  double best = 0;
  for (spec::Rewrite const& next : knowledge.manifest().rewrites) {
    if (!contains(enabled, next.name) && !contains(next.requires_, name)) continue;
    if (knowledge.tried(next.name) || base.rewrites.contains(next.name)) continue;
    double discount = enabled_discount;
    for (std::string const& required : next.requires_)
      if (required != name && !is_set(base, knowledge.root(), required)) discount *= enabled_discount;
    best = std::max(best, discount * (-rewrite_prior + potential(knowledge, base, next.name, seen)));
  }
  return best;
}

// Trials so far that changed the numbers of one entry point alone.
int one_sided_trials(Knowledge const& knowledge) {
  int count = 0;
  for (auto const& [id, trial] : knowledge.trials()) {
    bool const one_sided =
        trial.moves.size() == 1 && declaration_of(knowledge.manifest(), trial.moves.front()).parts_the_entry_points();
    count += one_sided ? 1 : 0;
  }
  return count;
}

// Expected logarithms of the ratio of latencies, by workload: what was observed, mixed with the prior.
std::map<std::string, double> expected_changes(View const& view, Knowledge const& knowledge, Trial const& base,
                                               Move const& move, int& observations) {
  Declaration const declaration = declaration_of(knowledge.manifest(), move);
  Observed const observed = observe(knowledge, base, move);
  double const expected = prior(knowledge, base, declaration, move);
  std::map<std::string, double> changes;
  for (spec::Workload const& workload : view.specification.workloads) {
    double const own = touches(declaration, workload) ? expected : 0;
    auto const seen = observed.weighted.find(workload.id);
    changes[workload.id] =
        (prior_weight * own + (seen == observed.weighted.end() ? 0 : seen->second)) / (prior_weight + observed.weight);
  }
  observations += observed.count;
  return changes;
}

// Whether the base, which is not the incumbent, was made for this candidate, and nothing of its kind was tried yet.
bool follows_through(View const& view, Knowledge const& knowledge, Trial const& base, Candidate const& candidate) {
  return candidate.moves.size() == 1 && candidate.base != view.state.incumbent &&
         !knowledge.tried(candidate.moves.front().name) &&
         std::any_of(base.moves.begin(), base.moves.end(),
                     [&](Move const& last) { return leads_to(knowledge.manifest(), last, candidate.moves.front()); });
}

// The T that a candidate is compared with: the incumbent's, or its own base's when the incumbent is another offspring of that
// base and the two can be merged.
double reference_us(View const& view, Knowledge const& knowledge, Trial const& base, Candidate const& candidate) {
  bool const beside = knowledge.trial(*view.state.incumbent).parents == std::vector{candidate.base};
  return beside && follows_through(view, knowledge, base, candidate) ? base.total_us : view.state.incumbent_total_us;
}

// What speaks for or against a candidate besides the latencies that it is expected to have.
double hope(View const& view, Knowledge const& knowledge, Trial const& base, Candidate const& candidate) {
  double possible = 0, penalty = 0, question = 0;
  for (Move const& move : candidate.moves) {
    std::set<std::string> seen;
    possible = std::max(possible, potential(knowledge, base.configuration, move.name, seen));
    penalty += failure_penalty * static_cast<double>(knowledge.failures_of(move).size());
    int const asked = one_sided_trials(knowledge);
    bool const one_sided = declaration_of(knowledge.manifest(), move).parts_the_entry_points();
    if (one_sided && asked < one_sided_questions && view.state.steps >= 2 + 4 * asked) question = curiosity;
  }
  double const measured = candidate.other && view.state.frontier.contains(*candidate.other) ? measured_gain : 0;
  return possible + question - penalty + measured + (follows_through(view, knowledge, base, candidate) ? follow_through : 0);
}

} // namespace

bool leads_to(spec::Manifest const& manifest, Move const& last, Move const& next) {
  return contains(declaration_of(manifest, next).requires_, last.name) ||
         contains(declaration_of(manifest, last).enables, next.name);
}

Estimate estimate(View const& view, Knowledge const& knowledge, Candidate const& candidate) {
  Trial const& base = knowledge.trial(candidate.base);
  Estimate result;
  std::map<std::string, double> changes;
  bool supported_by_evidence = false;
  double chance = 1;
  for (Move const& move : candidate.moves) {
    for (auto const& [workload, change] : expected_changes(view, knowledge, base, move, result.observations))
      changes[workload] += change;
    Declaration const declaration = declaration_of(knowledge.manifest(), move);
    if (declaration.parts_the_entry_points()) chance *= one_sided_success;
    auto const symptom = base.symptoms.find(declaration.helps);
    supported_by_evidence |= symptom != base.symptoms.end() && symptom->second.strength > 0.5;
  }
  for (spec::Workload const& workload : view.specification.workloads) {
    auto const latency = base.latency_us.find(workload.id);
    if (latency == base.latency_us.end()) continue;
    result.latency_us[workload.id] = latency->second * std::exp(changes[workload.id]);
    result.total_us += workload.weight * result.latency_us[workload.id];
  }
  double const gain = std::log(reference_us(view, knowledge, base, candidate) / result.total_us);
  result.value = (gain > 0 ? chance * gain : gain) + hope(view, knowledge, base, candidate);
  result.grounds = result.observations > 0
                       ? fmt::format("measured {} time{} before", result.observations, result.observations == 1 ? "" : "s")
                   : supported_by_evidence ? "not tried yet, and the evidence of the parent supports it"
                                           : "not tried yet";
  return result;
}

std::optional<std::string> ruled_out(Knowledge const& knowledge, Trial const& base, Move const& move) {
  Declaration const declaration = declaration_of(knowledge.manifest(), move);
  std::vector<Trial const*> const failures = knowledge.failures_of(move);
  auto const wrong = std::find_if(failures.begin(), failures.end(), [](Trial const* trial) {
    return trial->failed_stage != "build" && trial->failed_stage != "measurement";
  });
  if (wrong != failures.end())
    return fmt::format("{} failed the {} check with it ({}), and what it computes does not depend on the base",
                       ir::to_string((*wrong)->id), (*wrong)->failed_stage, ir::to_string((*wrong)->audit));
  if (failures.size() >= 2)
    return fmt::format("it failed {} times, last in {}", failures.size(), ir::to_string(failures.back()->audit));
  for (Trial const* const failure : failures)
    if (failure->parents.front() == base.id)
      return fmt::format("it failed on this very base in {}", ir::to_string(failure->audit));
  if (declaration.parts_the_entry_points()) {
    std::vector<Trial const*> const same = knowledge.one_sided_failures(declaration.risk);
    if (same.size() >= 2)
      return fmt::format("{} and {} show that the {} of one entry point cannot change alone", ir::to_string(same[0]->audit),
                         ir::to_string(same[1]->audit), declaration.risk);
  }
  return std::nullopt;
}

} // namespace tik::agent
