// The store as its callers see it: ids, links, order, what survives and what is refused.
#include "src/ir/store.h"

#include <gmock/gmock.h>

#include "tests/ir/sample_records.h"

namespace tik::ir {
namespace {

using ::testing::HasSubstr;

struct StoreTest : ::testing::Test {
  TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "search.db";
};

TEST_F(StoreTest, IdentityIsReadBackExactly) {
  { value(Store::create(file, sample_identity())); }
  auto const store = value(Store::open(file, Store::Mode::read_only));
  auto const identity = value(store.identity());
  EXPECT_EQ(identity.specification_text, sample_identity().specification_text);
  EXPECT_EQ(identity.seal, sample_identity().seal);
  EXPECT_EQ(identity.baseline_us, sample_identity().baseline_us);
  EXPECT_EQ(identity.created_at, sample_identity().created_at);
}

TEST_F(StoreTest, CreateRefusesAFileThatIsThere) {
  value(write_file(file, "something"));
  auto const store = Store::create(file, sample_identity());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::input);
  EXPECT_THAT(store.error().message, HasSubstr("search.db: is there already"));
  EXPECT_EQ(value(read_file(file)), "something");
}

TEST_F(StoreTest, IdsAreConsecutiveFromOneAndTheRootIsZero) {
  auto store = sample_store(file);
  for (int i = 1; i <= 5; ++i) {
    auto const opportunity = value(store.append(sample_opportunity({0}, {1})));
    EXPECT_EQ(opportunity.id.number, i + 1);
    auto const [action, implementation] = value(store.append(sample_action(opportunity.id, {{0}}), sample_implementation(i)));
    EXPECT_EQ(action.id.number, i);
    EXPECT_EQ(implementation.id.number, i);
    EXPECT_EQ(action.result, implementation.id);
    EXPECT_EQ(implementation.parents, action.parents);
    EXPECT_EQ(value(store.append(sample_audit(implementation.id), false, false, std::nullopt)).id.number, i + 1);
  }
  auto const counts = value(store.counts());
  EXPECT_EQ(counts.implementations, 6);
  EXPECT_EQ(counts.actions, 5);
  EXPECT_EQ(counts.audits, 6);
  EXPECT_EQ(counts.opportunities, 6);
  EXPECT_EQ(counts.decisions, 1);
}

TEST_F(StoreTest, CallersIdsAndTimesAreIgnored) {
  auto store = sample_store(file);
  auto opportunity = sample_opportunity({0}, {1});
  opportunity.id = {77};
  opportunity.created_at = "yesterday";
  auto const appended = value(store.append(opportunity));
  EXPECT_EQ(appended.id.number, 2);
  EXPECT_NE(appended.created_at, "yesterday");
  EXPECT_EQ(to_json(value(store.opportunity({2}))), to_json(appended));
}

TEST_F(StoreTest, FollowUpsAndTheirDecisionNameEachOther) {
  auto store = sample_store(file);
  auto const decision =
      value(store.append(sample_decision({0}, {1}), {sample_opportunity({0}, {1}), sample_opportunity({0}, {1})}));
  EXPECT_EQ(decision.follow_ups, (std::vector<OpportunityId>{{2}, {3}}));
  EXPECT_EQ(value(store.opportunity({2})).origin, decision.id);
  EXPECT_EQ(value(store.opportunity({3})).origin, decision.id);
}

TEST_F(StoreTest, ManagementIsRecordedCompletelyOrNotAtAll) {
  auto store = sample_store(file);
  auto good = sample_decision({0}, {1});
  auto bad = sample_decision({0}, {9});
  auto const refused = store.append({{good, {sample_opportunity({0}, {1})}}, {bad, {}}}, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("U9: there is no such audit; there are U1 to U1."));
  EXPECT_EQ(value(store.counts()).decisions, 1);
  EXPECT_EQ(value(store.counts()).opportunities, 1);
  auto const recorded = value(store.append({{good, {}}, {good, {}}}, {{OpportunityId{1}, "no longer needed", ""}}));
  EXPECT_EQ(recorded.size(), 2u);
  EXPECT_EQ(value(store.withdrawal({1}))->reason, "no longer needed");
}

TEST_F(StoreTest, AppendsTogetherAreAllThereOrNoneIs) {
  auto store = sample_store(file);
  auto const append_three = [&]() -> Result<void> {
    TIK_CHECK(store.append(sample_opportunity({0}, {1})));
    if (store.append(sample_opportunity({9}, {1}))) return input_error("a link to nowhere was accepted");
    TIK_CHECK(store.append(sample_opportunity({0}, {1})));
    return {};
  };
  value(store.together(append_three));
  EXPECT_EQ(value(store.counts()).opportunities, 3);
  EXPECT_FALSE(store.together([&]() -> Result<void> {
    TIK_CHECK(append_three());
    return input_error("changed my mind");
  }));
  EXPECT_EQ(value(store.counts()).opportunities, 3);
  EXPECT_EQ(value(store.append(sample_opportunity({0}, {1}))).id.number, 4);
}

TEST_F(StoreTest, LinksToMissingRecordsAreRefusedByName) {
  auto store = sample_store(file);
  auto const message = [](auto const& result) { return result ? std::string("appended") : result.error().message; };
  EXPECT_THAT(message(store.append(sample_opportunity({5}, {1}))),
              HasSubstr("I5: there is no such implementation; there are I0 to I0."));
  EXPECT_THAT(message(store.append(sample_opportunity({0}, {8}))), HasSubstr("U8: there is no such audit"));
  EXPECT_THAT(message(store.append(sample_action({4}, {{0}}), sample_implementation(1))),
              HasSubstr("O4: there is no such opportunity"));
  EXPECT_THAT(message(store.append(sample_action({1}, {{3}}), sample_implementation(1))),
              HasSubstr("I3: there is no such implementation"));
  EXPECT_THAT(message(store.append(sample_audit({2}), false, false, std::nullopt)),
              HasSubstr("I2: there is no such implementation"));
  EXPECT_THAT(message(store.append(Withdrawal{{6}, "why", ""})), HasSubstr("O6: there is no such opportunity"));
  ModelUsage usage;
  usage.action = ActionId{1};
  EXPECT_THAT(message(store.append(usage)), HasSubstr("A1: there is no such action; there is none yet."));
  EXPECT_EQ(value(store.counts()).implementations, 1);
}

TEST_F(StoreTest, RecordsWithoutWhatTheyNeedAreRefused) {
  auto store = sample_store(file);
  auto opportunity = sample_opportunity({0}, {1});
  opportunity.evidence.clear();
  EXPECT_FALSE(store.append(opportunity));
  opportunity = sample_opportunity({0}, {1});
  opportunity.implementations.clear();
  EXPECT_FALSE(store.append(opportunity));
  EXPECT_FALSE(store.append(sample_action({1}, {}), sample_implementation(1)));
  EXPECT_FALSE(store.append(sample_action({1}, {{0}, {0}}), sample_implementation(1)));
  EXPECT_FALSE(store.append_root(sample_implementation(1)));
  EXPECT_FALSE(store.append(sample_audit({0}), true, true, std::nullopt));
  EXPECT_FALSE(store.append(sample_audit({0}), false, true, 1.0));
  EXPECT_FALSE(store.append(sample_audit({0}), true, true, -1.0));
  EXPECT_FALSE(store.append(sample_audit({0}), true, true, std::numeric_limits<double>::quiet_NaN()));
}

TEST_F(StoreTest, AReportThatCouldNotBeReadBackIsRefused) {
  auto store = sample_store(file);
  auto audit = sample_audit({0});
  audit.report.workloads[0].latency_us = std::numeric_limits<double>::infinity();
  auto const refused = store.append(audit, false, false, std::nullopt);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("latency_us"));
  EXPECT_EQ(value(store.counts()).audits, 1);
}

TEST_F(StoreTest, TheSameCommitIsRecordedOnce) {
  auto store = sample_store(file);
  auto const again = store.append(sample_action({1}, {{0}}), sample_implementation(0));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("commit_id"));
  EXPECT_EQ(value(store.counts()).actions, 0);
}

TEST_F(StoreTest, BytesThatAreNotUtf8AreReplacedAndTheRecordIsReadable) {
  auto store = sample_store(file);
  auto action = sample_action({1}, {{0}});
  action.diff = "+\xff\xfe";
  auto const id = value(store.append(action, sample_implementation(1))).first.id;
  EXPECT_EQ(value(store.action(id)).diff, "+\uFFFD\uFFFD");
}

TEST_F(StoreTest, LinksCanBeFollowedBothWays) {
  auto store = sample_store(file);
  auto const [action, implementation] = value(store.append(sample_action({1}, {{0}}), sample_implementation(1)));
  value(store.append(sample_audit(implementation.id), true, true, 90.0));
  value(store.append(sample_decision(implementation.id, {2}), {}));
  EXPECT_EQ(value(store.action_of({1}))->id, action.id);
  EXPECT_FALSE(value(store.action_of({0})));
  EXPECT_EQ(value(store.children_of({0})).size(), 1u);
  EXPECT_EQ(value(store.actions_of({1})).size(), 1u);
  EXPECT_EQ(value(store.audits_of({1})).at(0).id.number, 2);
  EXPECT_EQ(value(store.decisions_of({1})).at(0).id.number, 2);
  EXPECT_EQ(value(store.decisions_on({2})).at(0).id.number, 2);
  EXPECT_EQ(value(store.implementation_with_source(sample_implementation(1).source_sha256)), ImplementationId{1});
  EXPECT_FALSE(value(store.implementation_with_source("none")));
  auto const missing = store.children_of({9});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("I9: there is no such implementation; there are I0 to I1."));
}

std::vector<std::string> replayed(Store const& store, std::int64_t after) {
  std::vector<std::string> events;
  struct Name {
    std::string operator()(OpportunityEvent const& e) const {
      return to_string(e.id) + " for " + to_string(e.implementations.at(0));
    }
    std::string operator()(WithdrawalEvent const& e) const { return "withdrawn " + to_string(e.id); }
    std::string operator()(ImplementationEvent const& e) const { return to_string(e.id); }
    std::string operator()(ActionEvent const& e) const {
      return to_string(e.id) + " " + to_string(e.parents.at(0)) + " to " + to_string(e.result) + " by " +
             to_string(e.opportunity);
    }
    std::string operator()(AuditEvent const& e) const { return to_string(e.id) + " of " + to_string(e.implementation); }
    std::string operator()(DecisionEvent const& e) const { return to_string(e.id) + " " + std::string(to_string(e.status)); }
    std::string operator()(UsageEvent const& e) const { return std::to_string(e.tokens) + " tokens"; }
  };
  std::int64_t expected = after;
  auto const last = value(store.replay(after, [&](std::int64_t sequence, std::string_view created_at, Event const& event) {
    EXPECT_EQ(sequence, ++expected);
    EXPECT_FALSE(created_at.empty());
    events.push_back(std::visit(Name{}, event));
  }));
  EXPECT_EQ(last, expected);
  return events;
}

TEST_F(StoreTest, ReplayVisitsRecordsInOrderOfCreation) {
  auto store = sample_store(file);
  value(store.append(sample_action({1}, {{0}}), sample_implementation(1)));
  ModelUsage usage;
  usage.input_tokens = 30;
  usage.output_tokens = 4;
  value(store.append(usage));
  value(store.append(sample_audit({1}), true, true, 90.0));
  auto decision = sample_decision({1}, {2});
  decision.status = BranchStatus::archived;
  value(store.append(decision, {sample_opportunity({0}, {2})}));
  value(store.append(Withdrawal{{2}, "why", ""}));
  std::vector<std::string> const all = {"I0",        "U1 of I0", "L1 continue", "O1 for I0", "I1",          "A1 I0 to I1 by O1",
                                        "34 tokens", "U2 of I1", "L2 archive",  "O2 for I0", "withdrawn O2"};
  EXPECT_EQ(replayed(store, 0), all);
  for (std::size_t after = 0; after <= all.size(); ++after)
    EXPECT_EQ(replayed(store, static_cast<std::int64_t>(after)),
              std::vector(all.begin() + static_cast<std::ptrdiff_t>(after), all.end()));
}

TEST_F(StoreTest, AuditEventsCarryWhatPromotionNeeds) {
  auto store = sample_store(file);
  auto failed = sample_audit({0});
  failed.report.stages[1].outcome = evaluator::Outcome::failed;
  value(store.append(failed, false, false, std::nullopt));
  std::vector<AuditEvent> audits;
  value(store.replay(0, [&](std::int64_t, std::string_view, Event const& event) {
    if (auto const* audit = std::get_if<AuditEvent>(&event)) audits.push_back(*audit);
  }));
  ASSERT_EQ(audits.size(), 2u);
  EXPECT_TRUE(audits[0].verified && audits[0].measured && audits[0].within_limits);
  EXPECT_EQ(audits[0].total_us, 100.0);
  EXPECT_EQ(audits[0].seconds, 1.5);
  EXPECT_FALSE(audits[1].verified || audits[1].measured || audits[1].within_limits);
  EXPECT_FALSE(audits[1].total_us);
}

TEST_F(StoreTest, AReaderSeesWhatAWriterCommitsMeanwhile) {
  auto store = sample_store(file);
  auto const reader = value(Store::open(file, Store::Mode::read_only));
  value(store.append(sample_opportunity({0}, {1})));
  EXPECT_EQ(value(reader.counts()).opportunities, 2);
  auto writing_reader = value(Store::open(file, Store::Mode::read_only));
  auto const refused = writing_reader.append(sample_opportunity({0}, {1}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::machine);
}

TEST_F(StoreTest, OpenSaysWhatAMissingOrForeignFileIs) {
  auto const missing = Store::open(file, Store::Mode::read_only);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::input);
  value(write_file(file, "this is no database at all, whatever its name says, and it is long enough"));
  auto const foreign = Store::open(file, Store::Mode::read_write);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().kind, ErrorKind::damage);
  EXPECT_THAT(foreign.error().message, HasSubstr("search.db"));
}

} // namespace
} // namespace tik::ir
