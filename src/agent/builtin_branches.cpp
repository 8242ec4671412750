#include "src/agent/builtin_branches.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/agent/builtin_estimate.h"
#include "src/agent/builtin_words.h"
#include "src/search/rules.h"

namespace tik::agent {
namespace {

using ir::to_string;
using Status = ir::BranchStatus;

constexpr double hopeless = 1.6; // times the incumbent's T: no follow-up makes up for that
constexpr double neutral = 0.02; // changes within it are kept for later

struct Verdict {
  Status status;
  std::string reason;
};

// Untried moves that the audited one's own moves were made for.
std::vector<Move> made_possible(Knowledge const& knowledge, Trial const& audited) {
  std::vector<Move> next;
  for (Move const& move : audited.available) {
    bool const meant = std::any_of(audited.moves.begin(), audited.moves.end(),
                                   [&](Move const& last) { return leads_to(knowledge.manifest(), last, move); });
    if (meant && !knowledge.tried(move.name) && !ruled_out(knowledge, audited, move)) next.push_back(move);
  }
  return next;
}

// Whether the workloads of full or those of decode, added up, take clearly less time than before.
bool helps_an_entry_point(View const& view, Trial const& before, Trial const& after) {
  for (spec::EntryPoint const entry_point : {spec::EntryPoint::full, spec::EntryPoint::decode}) {
    double was = 0, is = 0;
    for (spec::Workload const& workload : view.specification.workloads) {
      if (workload.entry_point() != entry_point) continue;
      was += workload.weight * before.latency_us.at(workload.id);
      is += workload.weight * after.latency_us.at(workload.id);
    }
    if (is < was * (1 - 2 * neutral)) return true;
  }
  return false;
}

// Earlier failures in the direction of this one: of the same move or, for a change of one entry point's numbers alone, of its
// kind.
std::vector<Trial const*> failures_like(Knowledge const& knowledge, Trial const& audited) {
  if (audited.moves.empty()) return {};
  Declaration const declaration = declaration_of(knowledge.manifest(), audited.moves.front());
  return declaration.parts_the_entry_points() ? knowledge.one_sided_failures(declaration.risk)
                                              : knowledge.failures_of(audited.moves.front());
}

// One failure may be an accident of the attempt; the second one of the same kind is taken as the answer.
DecisionDraft judge_failed(View const& view, Knowledge const& knowledge, Trial const& audited) {
  DecisionDraft decision{audited.id, interpretation(view, knowledge, audited), Status::abandoned, "", {}, {}};
  std::set<ir::ImplementationId> attempts;
  for (Trial const* const failure : failures_like(knowledge, audited)) {
    attempts.insert(failure->id);
    if (failure->audit != audited.audit) decision.evidence.push_back(failure->audit);
  }
  if (attempts.size() >= 2 && search::may_abandon(view.state, audited.id, attempts)) {
    decision.reason = fmt::format(
        "{} attempts in this direction remained unverified; they stay as negative evidence and it is not tried again.",
        attempts.size());
    return decision;
  }
  ir::ImplementationId const parent = audited.parents.front();
  return {parent,
          std::move(decision.interpretation),
          Status::continued,
          fmt::format("{} failed and is no parent; what comes next starts from its verified parent {}.", to_string(audited.id),
                      to_string(parent)),
          {},
          {}};
}

Verdict judge_not_promoted(View const& view, Knowledge const& knowledge, Trial const& audited) {
  Trial const& parent = knowledge.trial(audited.parents.front());
  Trial const& incumbent = knowledge.trial(*view.state.incumbent);
  double const change = audited.total_us / parent.total_us - 1, significant = std::max(neutral, 2 * audited.noise);
  std::string const in_words = change_in_words(parent.total_us, audited.total_us);
  if (audited.total_us < hopeless * view.state.incumbent_total_us) {
    if (std::vector<Move> const next = made_possible(knowledge, audited); !next.empty())
      return {Status::continued,
              fmt::format("Not promoted, but it makes {} possible, which was the point of it.", words(next))};
  }
  std::vector<Move> const gained = missing_moves(incumbent.configuration, audited.configuration, knowledge.root());
  if (change < -significant / 2 && !gained.empty() && !knowledge.result_known(incumbent, gained))
    return {Status::merge, fmt::format("It gains {} over its parent, and {} has nothing of {}: the two belong together.",
                                       in_words, to_string(incumbent.id), words(gained))};
  if (change < significant || helps_an_entry_point(view, parent, audited))
    return {Status::archived,
            fmt::format("T {} is no gain now; it is kept, since it may pay beside what others change.", in_words)};
  return {Status::abandoned, fmt::format("T {} against {} contradicts the expectation, and nothing builds on it.", in_words,
                                         to_string(parent.id))};
}

} // namespace

DecisionDraft judge(View const& view, Knowledge const& knowledge, Trial const& audited) {
  if (!audited.verified) return judge_failed(view, knowledge, audited);
  Verdict verdict;
  if (audited.parents.empty())
    verdict = {Status::continued, "The search starts from the root; its evidence gives the first opportunities."};
  else if (!audited.measured)
    verdict = {Status::archived, "Verified, but without every latency its worth is not known; it is kept without a follow-up."};
  else if (view.state.implementations.at(audited.id).promoted)
    verdict = {Status::continued,
               fmt::format("It is the new incumbent, {:.2f} times as fast as the root.", view.state.speedup())};
  else
    verdict = judge_not_promoted(view, knowledge, audited);
  return {audited.id, interpretation(view, knowledge, audited), verdict.status, std::move(verdict.reason), {}, {}};
}

} // namespace tik::agent
