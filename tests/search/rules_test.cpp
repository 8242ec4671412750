// Each rule of "What never bends" with attempts to break it.
#include "src/search/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/search/history.h"

namespace tik::search {
namespace {

using namespace test;
using enum ir::BranchStatus;
using testing::HasSubstr;

template <class T>
std::string refusal(Result<T> const& result) {
  return result ? "allowed" : result.error().message;
}

spec::Specification two_workloads() {
  spec::Specification specification;
  specification.workloads.resize(2);
  specification.workloads[0].id = "full-64";
  specification.workloads[1].id = "decode-64";
  specification.workloads[1].kind = spec::WorkloadKind::decode;
  return specification;
}

evaluator::Report report_with(double full_us, double decode_us) {
  evaluator::Report report;
  for (char const* name : {"build", "consistency", "accuracy", "robustness", "measurement", "evidence"})
    report.stages.push_back({name, evaluator::Outcome::passed, 0.1, "", evaluator::Json::object()});
  report.workloads.resize(2);
  report.workloads[0].id = "full-64";
  report.workloads[0].latency_us = full_us;
  report.workloads[1].id = "decode-64";
  report.workloads[1].latency_us = decode_us;
  return report;
}

agent::ActionDraft whole_action() {
  return {O(1), {I(0)}, {"full-64"}, {}, "the inner loop", "fewer loads", "no lower latency of full-64", {}};
}

ir::Difference one_change(std::string file) {
  return {"diff", {{std::move(file), ir::FileChange::Kind::modified, {{3, 4}, {9, 9}}}}};
}

agent::DecisionDraft decision(ir::ImplementationId id, ir::BranchStatus status, std::vector<ir::AuditId> evidence = {}) {
  return {id, "what the audit says", status, "why", std::move(evidence), {}};
}

TEST(Parents, UnverifiedImplementationIsNeverAParent) {
  History history;
  ir::ImplementationId const offspring = history.step({I(0)}, failed());
  EXPECT_THAT(refusal(may_be_parents(history.state, {offspring})), HasSubstr("did not verify it"));
  EXPECT_THAT(refusal(may_be_parents(history.state, {I(0), offspring})), HasSubstr("did not verify it"));
}

TEST(Parents, ImplementationWithoutAnAuditIsNeverAParent) {
  History history;
  ir::ImplementationId const offspring = history.action(history.opportunity({I(0)}), {I(0)});
  EXPECT_THAT(refusal(may_be_parents(history.state, {offspring})), HasSubstr("not audited yet"));
}

TEST(Parents, ArchivedOneMustBeReactivatedFirst) {
  History history;
  ir::ImplementationId const offspring = history.step({I(0)}, takes(120), archived);
  EXPECT_THAT(refusal(may_be_parents(history.state, {offspring})), HasSubstr("archived"));
  history.decide(offspring, U(2), reactivated);
  EXPECT_TRUE(may_be_parents(history.state, {offspring}));
}

TEST(Parents, AbandonedUndecidedAndUnknownOnesAreRefused) {
  History history;
  ir::ImplementationId const abandoned_one = history.step({I(0)}, takes(120), abandoned);
  ir::ImplementationId const undecided = history.action(history.opportunity({I(0)}), {I(0)});
  history.audit(undecided, takes(90));
  EXPECT_THAT(refusal(may_be_parents(history.state, {abandoned_one})), HasSubstr("abandoned"));
  EXPECT_THAT(refusal(may_be_parents(history.state, {undecided})), HasSubstr("no decision"));
  EXPECT_THAT(refusal(may_be_parents(history.state, {I(9)})), HasSubstr("I9 is not an implementation"));
}

TEST(Parents, AreOneOrTwoDifferentOnes) {
  History history;
  EXPECT_TRUE(may_be_parents(history.state, {I(0)}));
  EXPECT_FALSE(may_be_parents(history.state, {}));
  EXPECT_FALSE(may_be_parents(history.state, {I(0), I(0)}));
  EXPECT_FALSE(may_be_parents(history.state, {I(0), I(0), I(0)}));
}

TEST(Opportunity, IsTakenOnceAndOnlyByAParentThatItNames) {
  History history;
  ir::ImplementationId const other = history.step({I(0)}, takes(90));
  ir::OpportunityId const pending = history.opportunity({I(0)}), gone = history.opportunity({I(0)});
  history.withdraw(gone);
  EXPECT_TRUE(may_take(history.state, pending, {I(0)}));
  EXPECT_THAT(refusal(may_take(history.state, pending, {other})), HasSubstr("none of the parents"));
  EXPECT_THAT(refusal(may_take(history.state, O(1), {I(0)})), HasSubstr("taken by A1"));
  EXPECT_THAT(refusal(may_take(history.state, gone, {I(0)})), HasSubstr("withdrawn"));
  EXPECT_THAT(refusal(may_take(history.state, O(77), {I(0)})), HasSubstr("O77 is not an opportunity"));
}

TEST(Opportunity, MergeTakesExactlyItsTwoImplementations) {
  History history;
  ir::ImplementationId const left = history.step({I(0)}, takes(90)), right = history.step({I(0)}, takes(95));
  ir::OpportunityId const merging = history.opportunity({left, right}, ir::Opportunity::Kind::merge);
  EXPECT_TRUE(may_take(history.state, merging, {left, right}));
  EXPECT_TRUE(may_take(history.state, merging, {right, left}));
  EXPECT_FALSE(may_take(history.state, merging, {left}));
  EXPECT_FALSE(may_take(history.state, merging, {left, I(0)}));
}

TEST(Action, WithoutAChangeIsRefused) {
  EXPECT_THAT(refusal(action_is_complete(two_workloads(), whole_action(), {})), HasSubstr("changes nothing"));
}

TEST(Action, WithoutItsWordsOrWithAnUnknownWorkloadIsRefused) {
  auto const complete = [](agent::ActionDraft const& draft) {
    return refusal(action_is_complete(two_workloads(), draft, one_change("full.cpp")));
  };
  EXPECT_EQ(complete(whole_action()), "allowed");
  agent::ActionDraft draft = whole_action();
  draft.scope = " \n";
  EXPECT_THAT(complete(draft), HasSubstr("scope"));
  draft = whole_action();
  draft.expected_effect.clear();
  EXPECT_THAT(complete(draft), HasSubstr("expected_effect"));
  draft = whole_action();
  draft.contradiction.clear();
  EXPECT_THAT(complete(draft), HasSubstr("contradiction"));
  draft = whole_action();
  draft.workloads = {"full-65"};
  EXPECT_THAT(complete(draft), HasSubstr("\"full-65\" is not a workload of the specification; it has full-64, decode-64"));
  draft.workloads.clear();
  EXPECT_THAT(complete(draft), HasSubstr("no workload"));
}

TEST(Promotion, NeedsStrictlyLowerTotal) {
  History const history;
  auto const promoted = [&](Verdict verdict) {
    return is_promoted(history.state,
                       {U(2), I(1), verdict.verified, verdict.measured, verdict.within_limits, verdict.total_us, 1.0});
  };
  EXPECT_TRUE(promoted(takes(99.999)));
  EXPECT_FALSE(promoted(takes(100)));
  EXPECT_FALSE(promoted(takes(100.001)));
}

TEST(Promotion, NeedsVerificationEveryWorkloadAndEveryLimit) {
  History const history;
  auto const promoted = [&](bool verified, bool measured, bool within, std::optional<double> total) {
    return is_promoted(history.state, {U(2), I(1), verified, measured, within, total, 1.0});
  };
  EXPECT_TRUE(promoted(true, true, true, 10));
  EXPECT_FALSE(promoted(false, true, true, 10));
  EXPECT_FALSE(promoted(true, false, true, 10));
  EXPECT_FALSE(promoted(true, true, false, 10));
  EXPECT_FALSE(promoted(true, true, true, std::nullopt));
}

TEST(Limits, HoldForEveryWorkloadAgainstItsFixedBaseline) {
  spec::Specification specification = two_workloads();
  specification.workloads[0].max_slowdown = 1.5;
  std::map<std::string, double> const baseline = {{"full-64", 100}, {"decode-64", 10}};
  EXPECT_TRUE(within_limits(specification, baseline, report_with(150, 11)));
  EXPECT_FALSE(within_limits(specification, baseline, report_with(150.1, 11)));
  EXPECT_FALSE(within_limits(specification, baseline, report_with(10, 11.1)));
}

TEST(Limits, MissingWorkloadIsNotWithinThem) {
  evaluator::Report report = report_with(1, 1);
  report.workloads.pop_back();
  EXPECT_FALSE(within_limits(two_workloads(), {{"full-64", 100}, {"decode-64", 10}}, report));
  EXPECT_FALSE(within_limits(two_workloads(), {{"full-64", 100}}, report_with(1, 1)));
}

TEST(Root, IsRefusedWithTheStageThatFailed) {
  evaluator::Report report = report_with(100, 10);
  EXPECT_TRUE(may_start(two_workloads(), report));
  report.stages[1].outcome = evaluator::Outcome::failed;
  report.stages[1].message = "token 3 differs.";
  EXPECT_THAT(refusal(may_start(two_workloads(), report)), HasSubstr("consistency failed: token 3 differs."));
}

TEST(Root, IsRefusedWithoutEveryLatencyOrOverALimit) {
  evaluator::Report report = report_with(100, 10);
  report.workloads.pop_back();
  EXPECT_THAT(refusal(may_start(two_workloads(), report)), HasSubstr("\"decode-64\" has no latency"));
  spec::Specification specification = two_workloads();
  specification.workloads[0].max_slowdown = 0.9;
  EXPECT_THAT(refusal(may_start(specification, report_with(100, 10))), HasSubstr("max_slowdown < 1"));
}

TEST(Decision, OnlyVerifiedOnesAreContinuedMergedArchivedOrReactivated) {
  History history;
  ir::ImplementationId const offspring = history.action(history.opportunity({I(0)}), {I(0)});
  ir::AuditId const audit = history.audit(offspring, failed());
  for (ir::BranchStatus const status : {continued, merge, archived, reactivated})
    EXPECT_THAT(refusal(may_decide(history.state, audit, decision(offspring, status))), HasSubstr("did not verify it"));
}

TEST(Decision, OnlyArchivedOnesAreReactivatedAndAbandonedOnesStaySo) {
  History history;
  ir::ImplementationId const active = history.step({I(0)}, takes(90)), kept = history.step({I(0)}, takes(110), archived),
                             left = history.step({I(0)}, takes(130), abandoned);
  EXPECT_FALSE(may_decide(history.state, U(1), decision(active, reactivated)));
  EXPECT_FALSE(may_decide(history.state, U(1), decision(left, reactivated)));
  EXPECT_FALSE(may_decide(history.state, U(1), decision(left, continued)));
  EXPECT_FALSE(may_decide(history.state, U(1), decision(left, abandoned, {U(4)})));
  EXPECT_FALSE(may_decide(history.state, U(1), decision(kept, continued)));
  EXPECT_TRUE(may_decide(history.state, U(1), decision(kept, reactivated)));
}

TEST(Decision, AbandonNeedsRepeatedFailuresOrContradictingEvidence) {
  History history;
  ir::ImplementationId const parent = history.step({I(0)}, takes(90));   // U2
  ir::ImplementationId const first = history.step({parent}, failed());   // U3
  ir::ImplementationId const again = history.step({parent}, failed());   // U4
  ir::ImplementationId const slower = history.step({parent}, takes(95)); // U5
  EXPECT_FALSE(may_decide(history.state, U(3), decision(first, abandoned)));
  EXPECT_TRUE(may_decide(history.state, U(4), decision(again, abandoned, {U(3)})));
  EXPECT_TRUE(may_decide(history.state, U(5), decision(slower, abandoned)));
  EXPECT_FALSE(may_decide(history.state, U(2), decision(parent, abandoned)));
}

TEST(Decision, AbandonRestsOnAttemptsOfItsOwnLine) {
  History history;
  ir::ImplementationId const left = history.step({I(0)}, takes(90)), right = history.step({I(0)}, takes(80)); // U2, U3
  history.step({left}, failed());                                                                             // U4
  ir::ImplementationId const here = history.step({right}, failed());                                          // U5
  history.step({I(0)}, failed());                                                                             // U6
  EXPECT_FALSE(may_decide(history.state, U(5), decision(here, abandoned, {U(4)})));
  EXPECT_TRUE(may_decide(history.state, U(5), decision(here, abandoned, {U(6)})));
}

TEST(Decision, SameFailureNamedTwiceIsNotRepeated) {
  History history;
  ir::ImplementationId const offspring = history.step({I(0)}, failed());
  EXPECT_FALSE(may_decide(history.state, U(2), decision(offspring, abandoned, {U(2), U(2)})));
}

TEST(Decision, NeedsWordsAndExistingEvidence) {
  History history;
  agent::DecisionDraft draft = decision(I(0), continued, {U(9)});
  EXPECT_THAT(refusal(may_decide(history.state, U(1), draft)), HasSubstr("U9 is not an audit"));
  draft = decision(I(0), continued);
  draft.reason = "  ";
  EXPECT_THAT(refusal(may_decide(history.state, U(1), draft)), HasSubstr("no reason"));
  draft = decision(I(0), continued);
  draft.interpretation = "";
  EXPECT_THAT(refusal(may_decide(history.state, U(1), draft)), HasSubstr("no interpretation"));
}

TEST(Decision, FirstOneIsAboutTheAuditedOffspringOrAParentOfAFailedOne) {
  History history;
  ir::ImplementationId const verified = history.step({I(0)}, takes(120));
  history.step({verified}, failed());
  EXPECT_TRUE(leads(history.state, U(2), decision(verified, continued)));
  EXPECT_FALSE(leads(history.state, U(2), decision(I(0), continued)));
  EXPECT_TRUE(leads(history.state, U(3), decision(verified, continued)));
  EXPECT_FALSE(leads(history.state, U(3), decision(I(0), continued)));
  EXPECT_FALSE(leads(history.state, U(8), decision(I(0), continued)));
}

ir::Opportunity proposal() {
  ir::Opportunity opportunity;
  opportunity.mechanism = "read each key once for all heads of a group";
  opportunity.workloads = {"decode-64"};
  opportunity.evidence = {U(1)};
  opportunity.implementations = {I(0)};
  return opportunity;
}

TEST(Proposal, NamesVerifiedImplementationsExistingAuditsAndWorkloads) {
  History history;
  ir::ImplementationId const broken = history.step({I(0)}, failed());
  auto const verdict = [&](ir::Opportunity const& opportunity) {
    return refusal(may_propose(history.state, two_workloads(), opportunity));
  };
  EXPECT_EQ(verdict(proposal()), "allowed");
  ir::Opportunity opportunity = proposal();
  opportunity.implementations = {I(0), broken};
  EXPECT_THAT(verdict(opportunity), HasSubstr("I1, which is not verified"));
  opportunity.implementations.clear();
  EXPECT_THAT(verdict(opportunity), HasSubstr("names no implementation"));
  opportunity = proposal();
  opportunity.evidence = {};
  EXPECT_THAT(verdict(opportunity), HasSubstr("rests on no audit"));
  opportunity.evidence = {U(44)};
  EXPECT_THAT(verdict(opportunity), HasSubstr("U44 is not an audit"));
  opportunity = proposal();
  opportunity.workloads = {"decode-65"};
  EXPECT_THAT(verdict(opportunity), HasSubstr("decode-65"));
  opportunity.workloads.clear();
  EXPECT_THAT(verdict(opportunity), HasSubstr("neither a workload nor an entry point"));
  opportunity = proposal();
  opportunity.mechanism = "";
  EXPECT_THAT(verdict(opportunity), HasSubstr("no mechanism"));
}

TEST(Proposal, MergeNamesTwoAndReactivationAnArchivedOne) {
  History history;
  ir::ImplementationId const kept = history.step({I(0)}, takes(110), archived);
  ir::Opportunity opportunity = proposal();
  opportunity.kind = ir::Opportunity::Kind::merge;
  EXPECT_FALSE(may_propose(history.state, two_workloads(), opportunity));
  opportunity.implementations = {I(0), kept};
  EXPECT_TRUE(may_propose(history.state, two_workloads(), opportunity));
  opportunity.kind = ir::Opportunity::Kind::reactivate;
  EXPECT_TRUE(may_propose(history.state, two_workloads(), opportunity));
  opportunity.implementations = {I(0)};
  EXPECT_FALSE(may_propose(history.state, two_workloads(), opportunity));
}

spec::Manifest roles() {
  spec::Manifest manifest;
  manifest.full_files = {"full.cpp"};
  manifest.decode_files = {"decode.cpp"};
  manifest.shared_files = {"numerics.h"};
  return manifest;
}

TEST(Form, FollowsFromTheFilesChanged) {
  auto const form = [](std::vector<std::string> const& files) {
    ir::Difference difference;
    for (std::string const& file : files) difference.files.push_back({file, ir::FileChange::Kind::modified, {{1, 1}}});
    return action_form(difference, roles(), roles());
  };
  EXPECT_EQ(form({"full.cpp"}), ir::ActionForm::full_only);
  EXPECT_EQ(form({"decode.cpp"}), ir::ActionForm::decode_only);
  EXPECT_EQ(form({"full.cpp", "decode.cpp"}), ir::ActionForm::joint);
  EXPECT_EQ(form({"numerics.h"}), ir::ActionForm::joint);
  EXPECT_EQ(form({"decode.cpp", "numerics.h"}), ir::ActionForm::joint);
  EXPECT_EQ(form({"unlisted.h"}), ir::ActionForm::joint);
  EXPECT_EQ(form({"implementation.toml"}), ir::ActionForm::joint);
}

TEST(Form, RelabellingAFileInTheManifestDoesNotHideAJointChange) {
  spec::Manifest relabelled = roles();
  relabelled.decode_files = {"decode.cpp", "numerics.h"};
  relabelled.shared_files.clear();
  EXPECT_EQ(action_form(one_change("numerics.h"), roles(), relabelled), ir::ActionForm::joint);
}

TEST(Form, AddedAndRemovedFilesCountByTheManifestThatListsThem) {
  spec::Manifest after = roles();
  after.decode_files = {"decode.cpp", "group.h"};
  ir::Difference difference{"", {{"group.h", ir::FileChange::Kind::added, {{1, 9}}}}};
  EXPECT_EQ(action_form(difference, roles(), after), ir::ActionForm::decode_only);
  difference.files[0].kind = ir::FileChange::Kind::removed;
  EXPECT_EQ(action_form(difference, after, roles()), ir::ActionForm::decode_only);
}

TEST(Form, RegionsNameFileAndLines) {
  EXPECT_EQ(changed_regions(one_change("full.cpp")), (std::vector<std::string>{"full.cpp:3-4", "full.cpp:9-9"}));
  EXPECT_EQ(changed_regions({"", {{"old.h", ir::FileChange::Kind::removed, {{1, 7}}}}}), std::vector<std::string>{"old.h"});
}

TEST(Stopping, NamesTheLimitThatIsReached) {
  History history;
  history.step({I(0)}, failed());
  history.add(ir::UsageEvent{1000});
  spec::Stopping stopping;
  EXPECT_EQ(should_stop(stopping, history.state, 1e9), std::nullopt);
  stopping.tokens = 1000;
  EXPECT_EQ(should_stop(stopping, history.state, 0), StopReason::tokens);
  stopping.seconds = 60;
  EXPECT_EQ(should_stop(stopping, history.state, 60), StopReason::seconds);
  stopping.steps = 1;
  EXPECT_EQ(should_stop(stopping, history.state, 0), StopReason::steps);
  stopping.patience = 1;
  EXPECT_EQ(should_stop(stopping, history.state, 0), StopReason::patience);
}

} // namespace
} // namespace tik::search
