#include "src/search/state.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "tests/search/history.h"

namespace tik::search {
namespace {

using namespace test;
using enum ir::BranchStatus;

TEST(State, RootOpensTheSearchAsIncumbentAndFrontier) {
  History const history;
  EXPECT_EQ(history.state.incumbent, I(0));
  EXPECT_EQ(history.state.frontier, std::set{I(0)});
  EXPECT_TRUE(history.state.archive.empty());
  EXPECT_EQ(history.state.patience_used, 0);
  EXPECT_EQ(history.state.steps, 0);
  EXPECT_EQ(history.state.awaiting_decision, U(1));
  EXPECT_EQ(history.state.promotions, (std::vector<Promotion>{{0, I(0), 100}}));
}

TEST(State, FailedOffspringNeverEntersFrontierOrArchiveWhateverIsDecided) {
  for (ir::BranchStatus const status : {continued, merge, archived, reactivated, abandoned}) {
    History history;
    ir::ImplementationId const offspring = history.action(history.opportunity({I(0)}), {I(0)});
    history.decide(offspring, history.audit(offspring, failed()), status);
    EXPECT_FALSE(history.state.frontier.contains(offspring));
    EXPECT_FALSE(history.state.archive.contains(offspring));
    EXPECT_EQ(history.state.incumbent, I(0));
  }
}

TEST(State, StatusMovesAVerifiedImplementationBetweenFrontierAndArchive) {
  History history;
  ir::ImplementationId const offspring = history.step({I(0)}, takes(120), archived);
  EXPECT_TRUE(history.state.archive.contains(offspring));
  EXPECT_FALSE(history.state.frontier.contains(offspring));
  history.decide(offspring, U(2), reactivated);
  EXPECT_FALSE(history.state.archive.contains(offspring));
  EXPECT_TRUE(history.state.frontier.contains(offspring));
  history.decide(offspring, U(2), abandoned);
  EXPECT_FALSE(history.state.archive.contains(offspring));
  EXPECT_FALSE(history.state.frontier.contains(offspring));
}

TEST(State, BranchDecisionsNeverMoveTheIncumbent) {
  History history;
  ir::ImplementationId const offspring = history.step({I(0)}, takes(50), abandoned);
  EXPECT_EQ(history.state.incumbent, offspring);
}

TEST(State, PatienceCountsFailuresTiesAndLimitsAndRestartsAtAPromotion) {
  History history;
  history.step({I(0)}, failed());
  EXPECT_EQ(history.state.patience_used, 1);
  history.step({I(0)}, takes(100));
  EXPECT_EQ(history.state.patience_used, 2);
  history.step({I(0)}, over_a_limit(10));
  EXPECT_EQ(history.state.patience_used, 3);
  history.step({I(0)}, not_measured());
  EXPECT_EQ(history.state.patience_used, 4);
  history.step({I(0)}, takes(99));
  EXPECT_EQ(history.state.patience_used, 0);
  EXPECT_EQ(history.state.steps, 5);
}

TEST(State, SecondAuditOfAnImplementationCountsNothingTwice) {
  History history;
  ir::ImplementationId const offspring = history.step({I(0)}, takes(150));
  State before = history.state;
  history.audit(offspring, takes(10));
  before.sequence = history.state.sequence;
  EXPECT_EQ(history.state, before);
}

TEST(State, OpportunityIsPendingUntilTakenOrWithdrawn) {
  History history;
  ir::OpportunityId const taken = history.opportunity({I(0)}), withdrawn = history.opportunity({I(0)});
  EXPECT_EQ(history.state.pending, (std::set{taken, withdrawn}));
  history.action(taken, {I(0)});
  history.withdraw(withdrawn);
  EXPECT_TRUE(history.state.pending.empty());
  EXPECT_FALSE(history.state.opportunities.at(taken).pending);
  EXPECT_EQ(history.state.opportunities.at(taken).actions.size(), 1u);
}

TEST(State, NamesWhatACrashLeftHalfDone) {
  History history;
  history.decide(I(0), U(1), continued);
  ir::ImplementationId const offspring = history.action(history.opportunity({I(0)}), {I(0)});
  EXPECT_EQ(history.state.awaiting_audit, offspring);
  ir::AuditId const audit = history.audit(offspring, failed());
  EXPECT_EQ(history.state.awaiting_audit, std::nullopt);
  EXPECT_EQ(history.state.awaiting_decision, audit);
  history.decide(I(0), audit, continued);
  EXPECT_EQ(history.state.awaiting_decision, std::nullopt);
}

TEST(State, NamesWhatABatchLeavesToBeDoneInOrder) {
  History history;
  history.decide(I(0), U(1), continued);
  std::vector<ir::OpportunityId> const taken = {history.opportunity({I(0)}), history.opportunity({I(0)})};
  ir::ImplementationId const first = history.action(taken[0], {I(0)}), second = history.action(taken[1], {I(0)});
  EXPECT_EQ(history.state.unaudited, (std::set{first, second}));
  EXPECT_EQ(history.state.awaiting_audit, first);
  ir::AuditId const of_second = history.audit(second, failed()), of_first = history.audit(first, failed());
  EXPECT_EQ(history.state.unaudited, std::set<ir::ImplementationId>{});
  EXPECT_EQ(history.state.undecided, (std::set{of_second, of_first}));
  EXPECT_EQ(history.state.awaiting_decision, of_second);
  history.decide(I(0), of_second, continued);
  EXPECT_EQ(history.state.awaiting_decision, of_first);
  EXPECT_EQ(history.state.steps, 2);
}

TEST(State, TokensAndAuditSecondsAddUp) {
  History history;
  history.add(ir::UsageEvent{120});
  history.add(ir::UsageEvent{30});
  history.step({I(0)}, failed());
  EXPECT_EQ(history.state.model_tokens, 150);
  EXPECT_DOUBLE_EQ(history.state.audit_seconds, 4.0);
}

// Records in an order that no workflow would write: the fold must keep its invariants all the same.
History any_history() {
  History history(*rc::gen::element(takes(100), failed(), not_measured(), over_a_limit(100)));
  std::int64_t implementations = 1, opportunities = 0, audits = 1;
  int const length = *rc::gen::inRange(0, 60);
  auto const any_implementation = [&] { return I(*rc::gen::inRange<std::int64_t>(0, implementations)); };
  for (int i = 0; i < length; ++i) {
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        history.opportunity({any_implementation()});
        ++opportunities;
        break;
      case 1:
        if (opportunities > 0) history.withdraw(O(*rc::gen::inRange<std::int64_t>(1, opportunities + 1)));
        break;
      case 2:
        history.action(O(*rc::gen::inRange<std::int64_t>(1, opportunities + 2)), {any_implementation()});
        ++implementations;
        break;
      case 3: {
        double const total = *rc::gen::inRange(1, 200);
        history.audit(any_implementation(), *rc::gen::element(takes(total), over_a_limit(total), not_measured(), failed()));
        ++audits;
        break;
      }
      default:
        history.decide(any_implementation(), U(*rc::gen::inRange<std::int64_t>(1, audits + 1)),
                       *rc::gen::element(continued, merge, archived, reactivated, abandoned));
    }
  }
  return history;
}

// The definitions of the paper, computed the slow way from the list of events.
struct Definition {
  std::set<ir::ImplementationId> frontier, archive;
  std::set<ir::OpportunityId> pending;
  std::optional<ir::ImplementationId> incumbent;
  int patience_used = 0, steps = 0;
};

Definition define(std::vector<ir::Event> const& events) {
  Definition definition;
  std::map<ir::ImplementationId, ir::AuditEvent> audits;
  std::map<ir::ImplementationId, ir::BranchStatus> statuses;
  double best = 0;
  for (ir::Event const& event : events) {
    if (auto const* opportunity = std::get_if<ir::OpportunityEvent>(&event)) definition.pending.insert(opportunity->id);
    if (auto const* withdrawal = std::get_if<ir::WithdrawalEvent>(&event)) definition.pending.erase(withdrawal->id);
    if (auto const* action = std::get_if<ir::ActionEvent>(&event)) definition.pending.erase(action->opportunity);
    if (auto const* decision = std::get_if<ir::DecisionEvent>(&event)) statuses[decision->implementation] = decision->status;
    auto const* audit = std::get_if<ir::AuditEvent>(&event);
    if (!audit || !audits.emplace(audit->implementation, *audit).second) continue;
    bool const admissible = audit->verified && audit->measured && audit->within_limits;
    bool const improves = admissible && (!definition.incumbent || *audit->total_us < best);
    if (audit->implementation != I(0)) {
      ++definition.steps;
      definition.patience_used = improves ? 0 : definition.patience_used + 1;
    }
    if (!improves) continue;
    definition.incumbent = audit->implementation;
    best = *audit->total_us;
  }
  // A decision that came before the audit could not place an implementation, so only the last one after it counts; the root is
  // active until decided otherwise.
  std::map<ir::ImplementationId, std::optional<ir::BranchStatus>> after_audit;
  std::set<ir::ImplementationId> audited;
  for (ir::Event const& event : events) {
    if (auto const* audit = std::get_if<ir::AuditEvent>(&event); audit && audited.insert(audit->implementation).second)
      after_audit[audit->implementation] = audit->implementation == I(0) ? std::optional(continued) : std::nullopt;
    if (auto const* decision = std::get_if<ir::DecisionEvent>(&event); decision && audited.contains(decision->implementation))
      after_audit[decision->implementation] = decision->status;
  }
  for (auto const& [id, status] : after_audit) {
    if (!audits.at(id).verified || !status || *status == abandoned) continue;
    (*status == archived ? definition.archive : definition.frontier).insert(id);
  }
  return definition;
}

TEST(StateProperty, AgreesWithTheDefinitionsOnAnySequenceOfRecords) {
  EXPECT_TRUE(rc::check([] {
    History const history = any_history();
    Definition const expected = define(history.events);
    RC_ASSERT(history.state.frontier == expected.frontier);
    RC_ASSERT(history.state.archive == expected.archive);
    RC_ASSERT(history.state.pending == expected.pending);
    RC_ASSERT(history.state.incumbent == expected.incumbent);
    RC_ASSERT(history.state.patience_used == expected.patience_used);
    RC_ASSERT(history.state.steps == expected.steps);
  }));
}

TEST(StateProperty, FrontierAndArchiveAreDisjointAndVerified) {
  EXPECT_TRUE(rc::check([] {
    State const state = any_history().state;
    for (ir::ImplementationId const id : state.frontier) {
      RC_ASSERT(!state.archive.contains(id));
      RC_ASSERT(state.implementations.at(id).verified);
    }
    for (ir::ImplementationId const id : state.archive) RC_ASSERT(state.implementations.at(id).verified);
  }));
}

TEST(StateProperty, IncumbentHasTheLeastTotalOfAllAdmissibleOnes) {
  EXPECT_TRUE(rc::check([] {
    State const state = any_history().state;
    for (auto const& [id, implementation] : state.implementations) {
      if (!implementation.admissible()) continue;
      RC_ASSERT(state.incumbent.has_value());
      RC_ASSERT(state.incumbent_total_us <= *implementation.total_us);
    }
    if (state.incumbent) RC_ASSERT(state.implementations.at(*state.incumbent).admissible());
    RC_ASSERT(state.incumbent.has_value() == !state.promotions.empty());
    for (std::size_t i = 1; i < state.promotions.size(); ++i)
      RC_ASSERT(state.promotions[i].total_us < state.promotions[i - 1].total_us);
  }));
}

TEST(StateProperty, FoldInPiecesEqualsTheFoldAtOnce) {
  EXPECT_TRUE(rc::check([] {
    History const history = any_history();
    std::size_t const cut = *rc::gen::inRange<std::size_t>(0, history.events.size() + 1);
    State pieces;
    for (std::size_t i = 0; i < cut; ++i) apply(pieces, static_cast<std::int64_t>(i + 1), history.events[i]);
    State resumed = pieces;
    for (std::size_t i = cut; i < history.events.size(); ++i)
      apply(resumed, static_cast<std::int64_t>(i + 1), history.events[i]);
    RC_ASSERT(resumed == history.state);
  }));
}

} // namespace
} // namespace tik::search
