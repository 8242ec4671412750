// Lineage management of the built-in agent on records whose latencies are given, so that its decisions are known beforehand.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "src/agent/builtin.h"
#include "tests/ir/sample_records.h"
#include "tests/sample_texts.h"

namespace tik::agent {
namespace {

using ir::value;
using Status = ir::BranchStatus;
using testing::ElementsAre;

test::SampleSpecification const specification_sample{.name = "two constants", .decode_tokens = 32};

test::SampleManifest const manifest_sample{.description = "two constants that may be changed",
                                           .files = "shared = [\"constants.h\"]\n",
                                           .command = R"("g++", "-o", "{output}", "constants.h")",
                                           .rest = R"([[tunables]]
name = "lanes"
file = "constants.h"
line = "constexpr int lanes = {};"
domain = ["1", "2"]
entry_points = ["full", "decode"]
mechanism = "more lanes at once"
[[tunables]]
name = "rows"
file = "constants.h"
line = "constexpr int rows = {};"
domain = ["1", "2"]
entry_points = ["full", "decode"]
mechanism = "more rows at once"
)"};

// A search of which everything but the evaluation is real.
class Lineage : public testing::Test {
 protected:
  void SetUp() override {
    specification_ = value(spec::parse_specification(specification_sample.text(), "spec.toml"));
    sources_.emplace(value(ir::SourceRepository::create(folder_.path() / "sources.git")));
    store_.emplace(value(ir::Store::create(folder_.path() / "search.db", ir::sample_identity())));
    value(store_->append_root(implementation(1, 1, {})));
    audit({0}, 100);
  }

  // Takes the opportunity that `lanes` and `rows` come from, audits the offspring, and manages it. Returns its decisions.
  std::vector<ir::LineageDecision> step(ir::OpportunityId opportunity, int lanes, int rows, double total_us) {
    ir::Action action;
    action.opportunity = opportunity;
    action.parents = value(store_->opportunity(opportunity)).implementations;
    std::vector<std::string> commits;
    for (auto const parent : action.parents) commits.push_back(value(store_->implementation(parent)).commit);
    auto const recorded = value(store_->append(action, implementation(lanes, rows, commits)));
    audit(recorded.second.id, total_us);
    return manage();
  }

  std::vector<ir::LineageDecision> manage() {
    auto const draft = value(agent_->manage({specification_, state_, *store_, *sources_}, *state_.awaiting_decision));
    std::vector<std::pair<ir::LineageDecision, std::vector<ir::Opportunity>>> decisions;
    for (auto const& entry : draft.decisions) {
      ir::LineageDecision decision;
      decision.implementation = entry.implementation;
      decision.audit = *state_.awaiting_decision;
      decision.interpretation = entry.interpretation;
      decision.status = entry.status;
      decision.reason = entry.reason;
      decision.evidence = entry.evidence;
      decisions.emplace_back(std::move(decision), entry.follow_ups);
    }
    auto recorded = value(store_->append(std::move(decisions), draft.withdrawals));
    value(search::refresh(state_, *store_));
    return recorded;
  }

  // The pending opportunity to make this change.
  ir::OpportunityId opportunity_of(std::string const& notes) const {
    for (auto const id : state_.pending) {
      if (value(store_->opportunity(id)).hint.dump().find(notes) != std::string::npos) return id;
    }
    throw std::runtime_error("no opportunity about " + notes);
  }

  ir::TemporaryFolder folder_;
  spec::Specification specification_;
  std::optional<ir::SourceRepository> sources_;
  std::optional<ir::Store> store_;
  search::State state_;
  std::unique_ptr<Agent> agent_ = make_builtin_agent(1);

 private:
  ir::Implementation implementation(int lanes, int rows, std::vector<std::string> const& parents) {
    std::vector<SourceFile> const files = {
        {"constants.h", fmt::format("constexpr int lanes = {};\n\n\n\nconstexpr int rows = {};\n", lanes, rows), false},
        {"implementation.toml", manifest_sample.text(), false}};
    ir::Implementation made;
    made.commit = value(sources_->commit(files, parents, "test"));
    made.source_sha256 = hash_source_files(files);
    made.target = "cpu";
    made.manifest = value(spec::load_manifest(folder_.path(), files));
    return made;
  }

  void audit(ir::ImplementationId id, double total_us) {
    evaluator::Report report = ir::sample_report();
    for (auto& stage : report.stages) stage.outcome = evaluator::Outcome::passed;
    auto workload = report.workloads.front();
    report.workloads.clear();
    for (auto const& asked : specification_.workloads) {
      workload.id = asked.id;
      workload.entry_point = asked.entry_point();
      workload.latency_us = total_us / 2;
      report.workloads.push_back(workload);
    }
    value(store_->append(ir::Audit{{}, id, report, ""}, true, true, total_us));
    value(search::refresh(state_, *store_));
  }
};

TEST_F(Lineage, AnArchivedBranchIsTakenUpAgainBesideWhatTheIncumbentHasGainedSince) {
  manage();
  auto const neutral = step(opportunity_of("lanes"), 2, 1, 100.5);
  ASSERT_EQ(neutral.front().implementation, ir::ImplementationId{1});
  EXPECT_EQ(neutral.front().status, Status::archived) << neutral.front().reason;
  EXPECT_THAT(state_.archive, ElementsAre(ir::ImplementationId{1}));

  auto const faster = step(opportunity_of("rows"), 1, 2, 50);
  EXPECT_EQ(state_.incumbent, ir::ImplementationId{2});
  auto const reactivated = std::find_if(
      faster.begin(), faster.end(), [](ir::LineageDecision const& decision) { return decision.status == Status::reactivated; });
  ASSERT_NE(reactivated, faster.end());
  EXPECT_EQ(reactivated->implementation, ir::ImplementationId{1});
  EXPECT_FALSE(reactivated->reason.empty());
  EXPECT_TRUE(state_.frontier.contains({1}));
  ASSERT_EQ(reactivated->follow_ups.size(), 1U);
  auto const opportunity = value(store_->opportunity(reactivated->follow_ups.front()));
  EXPECT_EQ(opportunity.kind, ir::Opportunity::Kind::reactivate);
  EXPECT_THAT(opportunity.implementations, ElementsAre(ir::ImplementationId{2}, ir::ImplementationId{1}));

  // The same change is not proposed a second time as if it were new, and a branch that does not pay goes back.
  EXPECT_EQ(state_.pending.size(), 1U);
  step(opportunity.id, 2, 2, 50.2);
  EXPECT_TRUE(state_.archive.contains({1}));
  EXPECT_TRUE(state_.pending.empty());
}

} // namespace
} // namespace tik::agent
