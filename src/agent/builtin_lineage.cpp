#include "src/agent/builtin_lineage.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/agent/builtin_branches.h"
#include "src/agent/builtin_words.h"

namespace tik::agent {
namespace {

using ir::to_string;
using Status = ir::BranchStatus;

constexpr std::size_t opportunities_of_the_best = 8, opportunities_of_a_branch = 3;
constexpr double least_value = -0.5; // below it an opportunity is not worth a record
constexpr double worth_trying = 0.0; // with fewer than two above it, archived branches are looked at again

class Manager {
 public:
  Manager(View const& view, Knowledge const& knowledge, Trial const& audited)
      : view_(view), knowledge_(knowledge), audited_(audited), active_(view.state.frontier), kept_(view.state.pending) {}

  Result<ManagementDraft> manage() {
    draft_.decisions.push_back(judge(view_, knowledge_, audited_));
    bool const active =
        first().implementation == audited_.id && (first().status == Status::continued || first().status == Status::merge);
    if (active)
      active_.insert(audited_.id);
    else
      active_.erase(audited_.id);
    best_ = best_of(active_);
    propose_merges();
    propose_moves();
    withdraw();
    retire();
    reactivate();
    return std::move(draft_);
  }

 private:
  DecisionDraft& first() { return draft_.decisions.front(); }

  // --- what to try next ---

  Trial const* best_of(std::set<ir::ImplementationId> const& active) const {
    Trial const* best = nullptr;
    for (ir::ImplementationId const id : active) {
      Trial const& trial = knowledge_.trial(id);
      if (trial.measured && trial.within_limits && (!best || trial.total_us < best->total_us)) best = &trial;
    }
    return best;
  }

  std::size_t pending_on(ir::ImplementationId base) const {
    return static_cast<std::size_t>(std::count_if(kept_.begin(), kept_.end(), [&](ir::OpportunityId id) {
      return knowledge_.opportunity(id).implementations.front() == base;
    }));
  }

  bool is_pending(Candidate const& candidate) const {
    return std::any_of(kept_.begin(), kept_.end(), [&](ir::OpportunityId id) {
      ir::Opportunity const& opportunity = knowledge_.opportunity(id);
      if (opportunity.implementations.front() != candidate.base) return false;
      if (candidate.other) return opportunity.implementations.size() == 2 && opportunity.implementations[1] == *candidate.other;
      return opportunity.kind == ir::Opportunity::Kind::change && from_notes(opportunity.hint) == candidate.moves;
    });
  }

  void propose(DecisionDraft& decision, Candidate candidate, ir::Opportunity::Kind kind) {
    decision.follow_ups.push_back(describe(view_, knowledge_, candidate, estimate(view_, knowledge_, candidate), kind));
    proposed_.push_back(std::move(candidate));
  }

  // Every active branch that gained over its own parent and has what the best one lacks.
  void propose_merges() {
    if (!best_) return;
    for (ir::ImplementationId const id : active_) {
      Trial const& other = knowledge_.trial(id);
      if (id == best_->id || !other.measured || other.parents.empty()) continue;
      if (other.total_us >= knowledge_.trial(other.parents.front()).total_us * (1 - other.noise)) continue;
      Candidate candidate{best_->id, id, missing_moves(best_->configuration, other.configuration, knowledge_.root())};
      if (candidate.moves.empty() || knowledge_.result_known(*best_, candidate.moves) || merged_in_vain(other) ||
          is_pending(candidate))
        continue;
      propose(first(), std::move(candidate), ir::Opportunity::Kind::merge);
    }
  }

  // Two merges with it that were not promoted are enough.
  bool merged_in_vain(Trial const& other) const {
    int count = 0;
    for (auto const& [id, trial] : knowledge_.trials())
      count += trial.parents.size() == 2 &&
                       std::find(trial.parents.begin(), trial.parents.end(), other.id) != trial.parents.end() &&
                       !view_.state.implementations.at(id).promoted
                   ? 1
                   : 0;
    return count >= 2;
  }

  void propose_moves() {
    if (best_) propose_moves_on(*best_, opportunities_of_the_best);
    if (active_.contains(audited_.id) && audited_.measured && (!best_ || best_->id != audited_.id))
      propose_moves_on(audited_, opportunities_of_a_branch);
  }

  void propose_moves_on(Trial const& base, std::size_t at_most) {
    std::vector<std::pair<double, Candidate>> ranked;
    for (Move const& move : base.available) {
      Candidate candidate{base.id, std::nullopt, {move}};
      if (ruled_out(knowledge_, base, move) || knowledge_.result_known(base, candidate.moves) || is_pending(candidate) ||
          is_kept_for_reuse(base, move))
        continue;
      double const value = estimate(view_, knowledge_, candidate).value;
      if (value > least_value) ranked.emplace_back(value, std::move(candidate));
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](auto const& a, auto const& b) { return a.first > b.first; });
    std::size_t const pending = pending_on(base.id);
    for (auto& [value, candidate] : ranked) {
      if (pending + first().follow_ups.size() >= at_most && value <= worth_trying) break;
      if (pending + first().follow_ups.size() >= 2 * at_most) break;
      propose(first(), std::move(candidate), ir::Opportunity::Kind::change);
    }
  }

  // --- what to give up ---

  void withdraw() {
    for (ir::OpportunityId const id : std::set(kept_)) {
      auto const reason = obsolete(knowledge_.opportunity(id));
      if (!reason) continue;
      draft_.withdrawals.push_back({id, *reason, ""});
      kept_.erase(id);
    }
  }

  std::optional<std::string> obsolete(ir::Opportunity const& opportunity) const {
    std::vector<Move> const moves = from_notes(opportunity.hint);
    if (moves.empty()) return std::nullopt; // a person's: not this agent's to take back
    Trial const& base = knowledge_.trial(opportunity.implementations.front());
    for (ir::ImplementationId const id : opportunity.implementations)
      if (!active_.contains(id)) return fmt::format("{} is no longer active.", to_string(id));
    if (opportunity.implementations.size() == 1) {
      if (auto const reason = ruled_out(knowledge_, base, moves.front())) return *reason + ".";
    }
    if (knowledge_.result_known(base, moves))
      return fmt::format("The outcome of {} on {} is on record already.", words(moves), to_string(base.id));
    if (!best_ || best_->id == base.id || !knowledge_.is_ancestor(base.id, *best_)) return std::nullopt;
    if (view_.state.steps < opening_steps && base.parents.empty()) return std::nullopt;
    if (opportunity.implementations.size() == 1 && made_apart(*best_, moves.front())) return std::nullopt;
    return fmt::format("{} has come further on the same line; what is left of the idea is judged on it.", to_string(best_->id));
  }

  // Whether a move is still to be made on the parent of `trial` instead: the parent was made for both moves, and they touch
  // different entry points, so each is audited alone and the two branches are merged.
  bool made_apart(Trial const& trial, Move const& move) const {
    if (trial.parents.size() != 1 || !active_.contains(trial.parents.front())) return false;
    Trial const& parent = knowledge_.trial(trial.parents.front());
    if (parent.moves.empty() || !is_pending({parent.id, std::nullopt, {move}})) return false;
    bool const meant = std::any_of(parent.moves.begin(), parent.moves.end(),
                                   [&](Move const& last) { return leads_to(knowledge_.manifest(), last, move); });
    std::vector<spec::EntryPoint> const touched = touched_entry_points(knowledge_, trial.moves),
                                        own = touched_entry_points(knowledge_, {move});
    return meant && std::none_of(own.begin(), own.end(), [&](spec::EntryPoint entry_point) {
             return std::find(touched.begin(), touched.end(), entry_point) != touched.end();
           });
  }

  // Frontier means an immediate follow-up; what has none left is archived.
  void retire() {
    for (ir::ImplementationId const id : std::set(active_)) {
      if ((best_ && id == best_->id) || id == first().implementation || named(id)) continue;
      Trial const& trial = knowledge_.trial(id);
      std::string const why = best_ && knowledge_.is_ancestor(id, *best_)
                                  ? fmt::format("{} continues its line and has all that it has.", to_string(best_->id))
                                  : std::string("No opportunity on it is left; it is kept for reuse.");
      draft_.decisions.push_back(
          {id,
           fmt::format("{} leaves T = {:.1f} us of {} as it was.", to_string(audited_.audit), trial.total_us, to_string(id)),
           Status::archived,
           why,
           {trial.audit},
           {}});
      active_.erase(id);
    }
  }

  bool named(ir::ImplementationId id) const {
    auto const by = [&](std::vector<ir::ImplementationId> const& list) {
      return std::find(list.begin(), list.end(), id) != list.end();
    };
    return std::any_of(kept_.begin(), kept_.end(),
                       [&](auto entry) { return by(knowledge_.opportunity(entry).implementations); }) ||
           std::any_of(proposed_.begin(), proposed_.end(),
                       [&](Candidate const& entry) { return entry.base == id || entry.other == id; });
  }

  // What an archived branch has and the best one lacks, where merging the two has no known outcome.
  std::optional<Candidate> reunion(ir::ImplementationId id) const {
    Trial const& other = knowledge_.trial(id);
    if (!best_ || id == audited_.id || !other.measured || other.parents.empty() || merged_in_vain(other)) return std::nullopt;
    Candidate candidate{best_->id, id, missing_moves(best_->configuration, other.configuration, knowledge_.root())};
    if (candidate.moves.empty() || candidate.moves.size() > 3 || knowledge_.result_known(*best_, candidate.moves))
      return std::nullopt;
    return candidate;
  }

  // Whether a move on the best one is that of an archived branch. Its audit is evidence, so the move is not proposed as if it
  // were new: the branch is reactivated when its turn comes.
  bool is_kept_for_reuse(Trial const& base, Move const& move) const {
    if (!best_ || base.id != best_->id) return false;
    return std::any_of(view_.state.archive.begin(), view_.state.archive.end(), [&](ir::ImplementationId id) {
      auto const candidate = reunion(id);
      return candidate && candidate->moves == std::vector{move};
    });
  }

  // When little else is left to try, or nothing that promises as much, an archived branch is tried beside what the best has
  // gained since.
  void reactivate() {
    std::optional<Candidate> chosen;
    double best_value = least_value;
    for (ir::ImplementationId const id : view_.state.archive) {
      auto candidate = reunion(id);
      if (!candidate || id == first().implementation) continue;
      double const value = estimate(view_, knowledge_, *candidate).value;
      if (value <= best_value) continue;
      best_value = value;
      chosen = std::move(candidate);
    }
    std::vector<double> const others = open_values();
    auto const promising = std::count_if(others.begin(), others.end(), [](double value) { return value > worth_trying; });
    bool const first_choice = std::all_of(others.begin(), others.end(), [&](double value) { return value < best_value; });
    if (!chosen || (promising >= 2 && !first_choice)) return;
    Trial const& other = knowledge_.trial(*chosen->other);
    std::string const why =
        promising < 2
            ? fmt::format("{} leaves {} with little else to try", to_string(audited_.audit), to_string(best_->id))
            : fmt::format("After {} nothing else on {} promises as much", to_string(audited_.audit), to_string(best_->id));
    DecisionDraft decision{other.id,
                           fmt::format("{}; {} still differs by {}.", why, to_string(other.id), words(chosen->moves)),
                           Status::reactivated,
                           fmt::format("The incumbent has changed since {}: beside what it has gained, {} may pay.",
                                       to_string(other.audit), words(chosen->moves)),
                           {other.audit},
                           {}};
    propose(decision, std::move(*chosen), ir::Opportunity::Kind::reactivate);
    draft_.decisions.push_back(std::move(decision));
  }

  // The values of what is pending or proposed.
  std::vector<double> open_values() const {
    std::vector<double> values;
    for (ir::OpportunityId const id : kept_) {
      auto const candidate = candidate_of(view_, knowledge_, knowledge_.opportunity(id));
      if (candidate) values.push_back(estimate(view_, knowledge_, *candidate).value);
    }
    for (Candidate const& candidate : proposed_) values.push_back(estimate(view_, knowledge_, candidate).value);
    return values;
  }

  View const& view_;
  Knowledge const& knowledge_;
  Trial const& audited_;
  std::set<ir::ImplementationId> active_; // the frontier after the decisions so far
  std::set<ir::OpportunityId> kept_;      // pending and not withdrawn
  std::vector<Candidate> proposed_;
  Trial const* best_ = nullptr; // of the active ones
  ManagementDraft draft_;
};

} // namespace

std::optional<Candidate> candidate_of(View const& view, Knowledge const& knowledge, ir::Opportunity const& opportunity) {
  std::vector<Move> moves = from_notes(opportunity.hint);
  if (moves.empty()) return std::nullopt;
  for (ir::ImplementationId const id : opportunity.implementations)
    if (!view.state.frontier.contains(id) || !knowledge.trial(id).measured) return std::nullopt;
  Candidate candidate{opportunity.implementations.front(), std::nullopt, std::move(moves)};
  if (opportunity.implementations.size() == 2) candidate.other = opportunity.implementations[1];
  return candidate;
}

Result<ManagementDraft> manage_lineage(View const& view, Knowledge const& knowledge, ir::ImplementationId audited) {
  return Manager(view, knowledge, knowledge.trial(audited)).manage();
}

} // namespace tik::agent
