// What a management leaves to act on.
#include "src/search/reach.h"

#include <gmock/gmock.h>

#include "tests/search/history.h"

namespace tik::search {
namespace {

using namespace test;
using enum ir::BranchStatus;

agent::DecisionDraft decision(ir::ImplementationId id, ir::BranchStatus status) { return {id, "-", status, "-", {}, {}}; }

TEST(Reach, OpportunityIsWithinReachWhileABranchThatItNamesIsActive) {
  History history;
  ir::ImplementationId const other = history.step({I(0)}, takes(90));
  ir::OpportunityId const change = history.opportunity({I(0), other});
  ir::OpportunityId const merge = history.opportunity({I(0), other}, ir::Opportunity::Kind::merge);
  EXPECT_THAT(within_reach(history.state), testing::ElementsAre(change, merge));
  history.decide(other, U(2), archived);
  EXPECT_THAT(within_reach(history.state), testing::ElementsAre(change));
  history.decide(I(0), U(2), archived);
  EXPECT_THAT(within_reach(history.state), testing::IsEmpty());
  history.decide(other, U(2), reactivated);
  history.withdraw(change);
  EXPECT_THAT(within_reach(history.state), testing::IsEmpty());
}

TEST(Reach, FrontierAfterAManagementIsWhatTheStateThenSays) {
  History history;
  ir::ImplementationId const offspring = history.action(history.opportunity({I(0)}), {I(0)});
  history.audit(offspring, takes(90));
  EXPECT_THAT(frontier_after(history.state, {{decision(offspring, continued), decision(I(0), archived)}, {}}),
              testing::ElementsAre(offspring));
  history.decide(offspring, U(2), continued);
  history.decide(I(0), U(2), archived);
  EXPECT_THAT(history.state.frontier, testing::ElementsAre(offspring));
  EXPECT_THAT(frontier_after(history.state, {{decision(I(0), reactivated)}, {}}), testing::ElementsAre(I(0), offspring));
}

} // namespace
} // namespace tik::search
