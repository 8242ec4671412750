// Reports that come back from another host, against a real search. The reports here are the root's real one with other numbers,
// so that it is known which of them is faster; tests/cli/hosts_test.cpp evaluates for real.
#include <gmock/gmock.h>

#include "src/search/verify.h"
#include "tests/search/scripted_agent.h"
#include "tests/search/small_search.h"
#include "tests/search/worker_main.h"

namespace tik::search::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using I = ir::ImplementationId;

class Hosts : public SmallSearch {
 protected:
  // A search whose root is decided about, with a batch of `size` actions on it.
  Search batch(int size) {
    Search search = open();
    agent::DecisionDraft decision{{0}, "the root", ir::BranchStatus::continued, "to begin with", {}, {}};
    for (int i = 0; i < size; ++i) {
      ir::Opportunity opportunity;
      opportunity.mechanism = "a change";
      opportunity.workloads = {"full-32"};
      opportunity.evidence = {{1}};
      opportunity.implementations = {{0}};
      decision.follow_ups.push_back(opportunity);
    }
    EXPECT_TRUE(search.record_management({{decision}, {}}, {1}, "test"));
    for (int i = 1; i <= size; ++i) {
      auto const recorded = submit(search, i, ActionOrder::batch);
      EXPECT_TRUE(recorded) << recorded.error().message;
    }
    return search;
  }

  Result<std::pair<ir::Action, ir::Implementation>> submit(Search& search, int number, ActionOrder order) {
    std::filesystem::path const source = temporary_.path() / ("source-" + std::to_string(number));
    std::filesystem::remove_all(source);
    std::filesystem::copy(root_implementation(), source, std::filesystem::copy_options::recursive);
    EXPECT_TRUE(write_file(source / "full.cpp", *read_file(source / "full.cpp") + "// " + std::to_string(number) + '\n'));
    agent::ActionDraft const draft{{number}, {{0}}, {"full-32"}, {}, "scope", "effect", "measurement", {}};
    return search.record_action(draft, source, "test", order);
  }

  // A report on implementation `id`, measured beside `beside` in `rounds` rounds: `ratio` times its latencies, give or take
  // `noise` of that from round to round.
  static evaluator::HostReport report(Search const& search, I id, I beside, double ratio, double noise = 0, int rounds = 9) {
    evaluator::Report report = search.store().audit({1})->report;
    report.specification_sha256 = search.identity().seal;
    report.source_sha256 = search.store().implementation(id)->source_sha256;
    report.incumbent_sha256 = search.store().implementation(beside)->source_sha256;
    auto const recorded = search.store().audit(*search.state().implementations.at(beside).audit)->report.workloads;
    for (std::size_t w = 0; w < report.workloads.size(); ++w) {
      evaluator::WorkloadMeasurement& workload = report.workloads[w];
      workload.samples_us.clear();
      for (int round = 0; round < rounds; ++round) workload.samples_us.push_back(100 * ratio * (1 + noise * (round % 3 - 1)));
      workload.incumbent_samples_us.assign(static_cast<std::size_t>(rounds), 100);
      workload.median_us = 100 * ratio;
      workload.ratio = ratio;
      workload.latency_us = recorded[w].latency_us * ratio;
    }
    return {to_string(id), report};
  }

  static void expect_refused(Search& search, std::vector<evaluator::HostReport> reports, char const* sentence) {
    State const before = search.state();
    auto const taken = search.take_in(std::move(reports), nullptr);
    ASSERT_FALSE(taken) << sentence;
    EXPECT_EQ(taken.error().kind, ErrorKind::input);
    EXPECT_THAT(taken.error().message, HasSubstr(sentence));
    EXPECT_EQ(*fold(search.store()), before);
  }

  void expect_sound() const {
    auto const verified = verify(folder());
    ASSERT_TRUE(verified) << verified.error().message;
    for (ir::Finding const& finding : verified->findings) ADD_FAILURE() << finding.place << ": " << finding.sentence;
  }
};

TEST_F(Hosts, ActionsOfABatchWaitSideBySideAndOthersAreRefused) {
  Search search = batch(2);
  EXPECT_EQ(search.state().unaudited, (std::set<I>{{1}, {2}}));
  auto const third = submit(search, 3, ActionOrder::sequential);
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error().message, HasSubstr("I1 awaits its audit"));
  ASSERT_TRUE(search.take_in({report(search, {1}, {0}, 1.2)}, nullptr));
  auto const late = submit(search, 3, ActionOrder::batch);
  ASSERT_FALSE(late) << "I1 was audited and nobody decided about it yet";
  EXPECT_THAT(late.error().message, HasSubstr("U2 awaits a lineage decision"));
  expect_sound();
}

TEST_F(Hosts, BundleHoldsAllThatWaitOrThoseNamedAndNoneThatIsAudited) {
  Search search = batch(3);
  auto const all = search.bundle({});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->candidates.size(), 3u);
  EXPECT_EQ(all->incumbent->id, "I0");
  EXPECT_EQ(search.bundle({{3}})->candidates.front().id, "I3");
  EXPECT_THAT(search.bundle({{0}}).error().message, HasSubstr("I0 is audited already (U1)"));
  EXPECT_THAT(search.bundle({{7}}).error().message, HasSubstr("I7"));
}

TEST_F(Hosts, ReportsBecomeAuditsInOrderAndTheFastestIsPromoted) {
  Search search = batch(3);
  auto const taken =
      search.take_in({report(search, {3}, {0}, 0.7), report(search, {2}, {0}, 0.9), report(search, {1}, {0}, 0.8)}, nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  ASSERT_EQ(taken->audits.size(), 3u);
  EXPECT_EQ(taken->audits[0].implementation, I{1});
  State const& state = search.state();
  EXPECT_TRUE(state.implementations.at({1}).promoted);
  EXPECT_FALSE(state.implementations.at({2}).promoted) << "faster than the root, not than I1";
  EXPECT_TRUE(state.implementations.at({3}).promoted) << "clearly faster than I1, though measured beside the root";
  EXPECT_EQ(state.incumbent, I{3});
  EXPECT_EQ(state.steps, 3);
  EXPECT_EQ(state.undecided.size(), 3u);
  expect_sound();
}

TEST_F(Hosts, GainOverANewerIncumbentWithinTheNoiseIsHeldBackUntilMeasuredBesideIt) {
  Search search = batch(3);
  auto const taken = search.take_in(
      {report(search, {1}, {0}, 0.80, 0.02), report(search, {2}, {0}, 0.799, 0.02), report(search, {3}, {0}, 0.801, 0.02)},
      nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_THAT(taken->held_back, ElementsAre(I{2}));
  EXPECT_EQ(taken->audits.size(), 2u) << "I3 is not faster, so nothing is at stake";
  EXPECT_EQ(search.state().incumbent, I{1});
  EXPECT_EQ(search.state().unaudited, std::set<I>{{2}});
  EXPECT_EQ(search.bundle({})->incumbent->id, "I1");
  auto const again = search.take_in({report(search, {2}, {1}, 0.999, 0.02)}, nullptr);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(search.state().incumbent, I{2}) << "beside the incumbent the paper's strict inequality decides";
  expect_sound();
}

TEST_F(Hosts, SameReportsTakenInTwiceAreNoSecondAudit) {
  Search search = batch(2);
  std::vector const reports = {report(search, {1}, {0}, 0.9), report(search, {2}, {0}, 1.1)};
  ASSERT_TRUE(search.take_in({reports[0]}, nullptr)) << "as when the process was killed after the first";
  auto const rest = search.take_in(reports, nullptr);
  ASSERT_TRUE(rest);
  EXPECT_THAT(rest->known, ElementsAre(I{1}));
  EXPECT_EQ(rest->audits.size(), 1u);
  State const before = search.state();
  auto const again = search.take_in(reports, nullptr);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->audits, IsEmpty());
  EXPECT_THAT(again->known, ElementsAre(I{1}, I{2}));
  EXPECT_EQ(search.state(), before);
  expect_refused(search, {report(search, {1}, {0}, 0.5)}, "I1 is audited already (U2)");
}

TEST_F(Hosts, ReportsThatAreNotAboutThisSearchChangeNothing) {
  Search search = batch(2);
  evaluator::HostReport const good = report(search, {1}, {0}, 0.9);
  auto const changed = [&](auto change) {
    evaluator::HostReport bad = report(search, {2}, {0}, 0.9);
    change(bad.report);
    return std::vector{good, bad};
  };
  using R = evaluator::Report;
  expect_refused(search, changed([](R& r) { r.specification_sha256 = std::string(64, '0'); }), "under the specification 0000");
  expect_refused(search, changed([](R& r) { r.source_sha256 = std::string(64, '1'); }), "about the source 1111");
  expect_refused(search, changed([](R& r) { r.evaluator_version = "0"; }), "evaluator version 0");
  expect_refused(search, changed([](R& r) { r.incumbent_sha256 = std::string(64, '2'); }), "no incumbent of this search");
  expect_refused(search, changed([](R& r) { r.incumbent_sha256 = r.source_sha256; }), "no incumbent of this search");
  expect_refused(search, changed([](R& r) { r.incumbent_sha256 = ""; }), "measured alone");
  expect_refused(search, changed([](R& r) { r.workloads[0].latency_us /= 2; }), "does not follow from its measurement");
  expect_refused(search, changed([](R& r) { r.workloads[0].ratio /= 2; }), "does not follow from its measurement");
  expect_refused(search, changed([](R& r) { r.workloads[0].samples_us = {1}; }), "median");
  expect_refused(search, changed([](R& r) { r.workloads[0].incumbent_samples_us.clear(); }), "lacks samples");
  expect_refused(search, changed([](R& r) { r.workloads[0].id = "full-33"; }), "full-33");
  expect_refused(search, {good, {"I9", good.report}}, "I9");
  expect_refused(search, {good, {"O1", good.report}}, "O1");
  EXPECT_TRUE(search.take_in({good}, nullptr));
}

TEST_F(Hosts, FailedReportIsAnAuditThatNeedsNoIncumbent) {
  Search search = batch(1);
  evaluator::HostReport failed = report(search, {1}, {0}, 1);
  failed.report.incumbent_sha256 = "";
  failed.report.workloads.clear();
  failed.report.stages[1].outcome = evaluator::Outcome::failed;
  for (std::size_t i = 2; i < failed.report.stages.size(); ++i) failed.report.stages[i].outcome = evaluator::Outcome::skipped;
  auto const taken = search.take_in({failed}, nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_FALSE(search.state().implementations.at({1}).verified);
  EXPECT_EQ(search.state().patience_used, 1);
  expect_sound();
}

} // namespace
} // namespace tik::search::test
