// The workflow with real audits: what is recorded, what is refused, and that a refusal changes nothing.
#include <gmock/gmock.h>

#include "src/search/verify.h"
#include "tests/search/scripted_agent.h"
#include "tests/search/small_search.h"
#include "tests/search/worker_main.h"

namespace tik::search::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using I = ir::ImplementationId;

// Edits of the CPU root. The first keeps the bits, the second breaks them, the third does not compile.
ScriptedStep lanes(I parent, char const* value) {
  return {{parent}, "numerics.h", "constexpr int dot_lanes = 1;", std::string("constexpr int dot_lanes = ") + value + ";"};
}
ScriptedStep more_optimization(I parent) { return {{parent}, "compile.options", "-O2", "-O3"}; }
ScriptedStep wider_decode(I parent) {
  return {{parent}, "decode.cpp", "constexpr int step_keys = tile_keys;", "constexpr int step_keys = 8 * tile_keys;"};
}
ScriptedStep broken_build(I parent) { return {{parent}, "full.cpp", "namespace tik", "namespaze tik"}; }

std::vector<std::string> sentences(ir::Verification const& verification) {
  std::vector<std::string> list;
  for (ir::Finding const& finding : verification.findings) list.push_back(finding.place + ": " + finding.sentence);
  return list;
}

std::atomic<bool> const never = false;

using Initialization = SmallSearch;

TEST_F(Initialization, SealsTheRootsLatenciesAsBaselines) {
  Search const search = open(Search::Mode::read);
  EXPECT_EQ(search.identity().baseline_us.size(), 2u);
  EXPECT_EQ(search.identity().seal, spec::seal(search.specification(), search.identity().baseline_us));
  EXPECT_EQ(search.state().incumbent, I{0});
  EXPECT_EQ(search.state().awaiting_decision, ir::AuditId{1});
  EXPECT_THAT(sentences(*verify(folder())), IsEmpty());
}

TEST_F(Initialization, RefusesARootWhoseEntryPointsDisagreeAndLeavesNothing) {
  std::filesystem::path const root = temporary_.path() / "root", place = temporary_.path() / "new";
  std::filesystem::copy(root_implementation(), root, std::filesystem::copy_options::recursive);
  ScriptedStep const step = wider_decode({0});
  std::string content = *read_file(root / step.file);
  content.replace(content.find(step.find), step.find.size(), step.replace);
  ASSERT_TRUE(write_file(root / step.file, content));
  auto const created = Search::create(place, write_specification(temporary_.path()), root, nullptr, nullptr);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().kind, ErrorKind::input);
  EXPECT_THAT(created.error().message, HasSubstr("consistency failed"));
  EXPECT_FALSE(std::filesystem::exists(place));
  EXPECT_FALSE(std::filesystem::exists(place.string() + ".part"));
}

TEST_F(Initialization, RefusesAFolderThatIsNotEmpty) {
  auto const created =
      Search::create(folder(), write_specification(temporary_.path()), root_implementation(), nullptr, nullptr);
  ASSERT_FALSE(created);
  EXPECT_THAT(created.error().message, HasSubstr("exists already"));
}

using Opening = SmallSearch;

TEST_F(Opening, SecondWriterIsRefusedWithTheFirstOnesProcess) {
  Search const first = open();
  auto const second = Search::open(folder(), Search::Mode::write);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("in use by process " + std::to_string(getpid())));
  EXPECT_TRUE(Search::open(folder(), Search::Mode::read));
}

TEST_F(Opening, SpecificationThatChangedAfterItWasSealedIsRefused) {
  std::string text = small_specification();
  ASSERT_TRUE(write_file(folder() / "spec.toml", text.replace(text.find("patience = 30"), 13, "patience = 31")));
  auto const changed = Search::open(folder(), Search::Mode::write);
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, HasSubstr("differs from the specification"));
  EXPECT_THAT(sentences(*verify(folder())), testing::Contains(HasSubstr("differs from the specification")));
}

TEST_F(Opening, ScratchMayBeDeletedAtAnyTime) {
  std::filesystem::remove_all(folder() / "work");
  EXPECT_TRUE(Search::open(folder(), Search::Mode::write));
}

TEST_F(Opening, FolderWithoutASearchIsRefused) {
  auto const missing = Search::open(temporary_.path() / "none", Search::Mode::read);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("no search is there"));
}

class Workflow : public SmallSearch {
 protected:
  StopReason run(Search& search, std::vector<ScriptedStep> steps) {
    ScriptedAgent agent(std::move(steps));
    SilentObserver observer;
    auto const reason = search.run(agent, observer, never);
    EXPECT_TRUE(reason) << reason.error().message;
    return reason.value_or(StopReason::interrupted);
  }
  // The root is managed, so that an action may come.
  Search ready() {
    Search search = open();
    EXPECT_EQ(run(search, {}), StopReason::no_opportunity);
    return search;
  }
  agent::ActionDraft draft(Search const& search, std::vector<I> parents) {
    return {*search.state().pending.begin(), std::move(parents), {"full-32"}, {}, "scope", "effect", "measurement", {}};
  }
  void expect_refused(Search& search, agent::ActionDraft const& action, std::filesystem::path const& source,
                      char const* sentence) {
    State const before = search.state();
    auto const recorded = search.record_action(action, source, "test");
    ASSERT_FALSE(recorded);
    EXPECT_EQ(recorded.error().kind, ErrorKind::input);
    EXPECT_THAT(recorded.error().message, HasSubstr(sentence));
    EXPECT_EQ(search.state(), before);
    EXPECT_EQ(*fold(search.store()), before);
  }
};

TEST_F(Workflow, RecordsFailuresContinuesFromTheParentAndMergesBranches) {
  Search search = open();
  run(search, {wider_decode({0}), broken_build({0}), lanes({0}, "8"), more_optimization({0}), {{I{3}, I{4}}, "", "", ""}});
  State const& state = search.state();
  ASSERT_EQ(state.steps, 5);
  EXPECT_EQ(search.store().audit({2})->report.find_stage("consistency")->outcome, evaluator::Outcome::failed);
  EXPECT_EQ(search.store().audit({3})->report.find_stage("build")->outcome, evaluator::Outcome::failed);
  EXPECT_FALSE(state.frontier.contains({1}));
  EXPECT_FALSE(state.frontier.contains({2}));
  EXPECT_TRUE(state.frontier.contains({3}));
  EXPECT_TRUE(state.frontier.contains({5}));
  EXPECT_EQ(search.store().action({1})->form, ir::ActionForm::decode_only);
  EXPECT_EQ(search.store().action({2})->form, ir::ActionForm::full_only);
  EXPECT_EQ(search.store().action({3})->form, ir::ActionForm::joint);
  ir::Implementation const merged = *search.store().implementation({5});
  EXPECT_EQ(merged.parents, (std::vector{I{3}, I{4}}));
  EXPECT_THAT(*search.sources().read(merged.commit, "numerics.h"), HasSubstr("dot_lanes = 8"));
  EXPECT_THAT(*search.sources().read(merged.commit, "compile.options"), HasSubstr("-O3"));
  EXPECT_THAT(sentences(*verify(folder())), IsEmpty());
  EXPECT_EQ(search.step_times().size(), 5u);
}

TEST_F(Workflow, ActionFromAnUnverifiedParentIsRefused) {
  Search search = open();
  run(search, {wider_decode({0})});
  std::filesystem::path const source = temporary_.path() / "edited";
  std::filesystem::copy(root_implementation(), source, std::filesystem::copy_options::recursive);
  expect_refused(search, draft(search, {{1}}), source, "did not verify it");
  EXPECT_FALSE(search.check_out({{1}}, temporary_.path() / "out"));
}

TEST_F(Workflow, ActionWithoutAChangeIsRefused) {
  Search search = ready();
  expect_refused(search, draft(search, {{0}}), root_implementation(), "changes nothing");
}

TEST_F(Workflow, SourceOfAnotherImplementationIsNotCountedTwice) {
  Search search = open();
  run(search, {broken_build({0})});
  std::filesystem::path const source = temporary_.path() / "again";
  ASSERT_TRUE(search.sources().check_out(search.store().implementation({1})->commit, source));
  expect_refused(search, draft(search, {{0}}), source, "the same source as I1");
}

TEST_F(Workflow, SourceWithASymbolicLinkOrAForeignTargetIsRefused) {
  Search search = ready();
  std::filesystem::path const source = temporary_.path() / "linked";
  std::filesystem::copy(root_implementation(), source, std::filesystem::copy_options::recursive);
  std::filesystem::create_symlink("/etc/passwd", source / "link.h");
  expect_refused(search, draft(search, {{0}}), source, "link.h");
  std::filesystem::remove(source / "link.h");
  std::string manifest = *read_file(source / "implementation.toml");
  ASSERT_TRUE(write_file(source / "implementation.toml",
                         manifest.replace(manifest.find("target = \"cpu\""), 14, "target = \"sm_90a\"")));
  expect_refused(search, draft(search, {{0}}), source, "target is \"sm_90a\"");
}

TEST_F(Workflow, NextActionWaitsForAuditAndDecision) {
  Search search = open();
  expect_refused(search, {{1}, {{0}}, {"full-32"}, {}, "s", "e", "c", {}}, root_implementation(),
                 "U1 awaits a lineage decision");
}

TEST_F(Workflow, ManagementIsRecordedCompletelyOrNotAtAll) {
  Search search = open();
  agent::DecisionDraft const good{{0}, "root", ir::BranchStatus::continued, "start", {}, {}};
  agent::DecisionDraft const bad{{9}, "nothing", ir::BranchStatus::archived, "why", {}, {}};
  State const before = search.state();
  EXPECT_FALSE(search.record_management({{good, bad}, {}}, {1}, "test"));
  EXPECT_FALSE(search.record_management({{good}, {{{5}, "never was", ""}}}, {1}, "test"));
  EXPECT_FALSE(search.record_management({{good, good}, {}}, {1}, "test"));
  EXPECT_FALSE(search.record_management({{}, {}}, {1}, "test"));
  EXPECT_EQ(*fold(search.store()), before);
  EXPECT_TRUE(search.record_management({{good}, {}}, {1}, "test"));
}

TEST_F(Workflow, ReaderMayNotWrite) {
  Search search = open(Search::Mode::read);
  agent::DecisionDraft const good{{0}, "root", ir::BranchStatus::continued, "start", {}, {}};
  EXPECT_THAT(search.record_management({{good}, {}}, {1}, "test").error().message, HasSubstr("reading only"));
}

TEST_F(Workflow, SecondAuditOfAnImplementationIsRefused) {
  Search search = open();
  auto const again = search.audit({0}, nullptr, nullptr);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("audited once"));
}

TEST_F(Workflow, AgentThatBreaksARuleEndsTheRunAndNothingIsRecorded) {
  Search search = ready();
  State const before = search.state();
  ScriptedAgent agent({{{I{0}}, "", "", ""}});
  SilentObserver observer;
  auto const reason = search.run(agent, observer, never);
  ASSERT_FALSE(reason);
  EXPECT_THAT(reason.error().message, HasSubstr("The agent \"script\" broke a rule"));
  EXPECT_EQ(*fold(search.store()), before);
}

// Asks for the end of the run as soon as an audit has begun.
class Impatient : public SilentObserver {
 public:
  void stage(std::string_view, double) override { cancel = true; }
  std::atomic<bool> cancel = false;
};

TEST_F(Workflow, InterruptedAuditIsDoneByTheNextRunAndCountedOnce) {
  Impatient observer;
  {
    Search search = open();
    ScriptedAgent agent({broken_build({0})});
    EXPECT_EQ(search.run(agent, observer, observer.cancel), StopReason::interrupted);
    EXPECT_EQ(search.state().awaiting_audit, I{1});
    EXPECT_EQ(search.state().steps, 0);
  }
  Search search = open();
  EXPECT_EQ(run(search, {broken_build({0})}), StopReason::no_opportunity);
  EXPECT_EQ(search.state().steps, 1);
  EXPECT_EQ(search.state().implementations.size(), 2u);
  EXPECT_THAT(sentences(*verify(folder())), IsEmpty());
}

TEST_F(Workflow, OpportunityOfAPersonFollowsTheRules) {
  Search search = ready();
  ir::Opportunity opportunity = *search.store().opportunity(*search.state().pending.begin());
  EXPECT_TRUE(search.propose(opportunity));
  EXPECT_EQ(search.state().pending.size(), 2u);
  opportunity.workloads = {"decode-97"};
  EXPECT_THAT(search.propose(opportunity).error().message, HasSubstr("decode-97"));
  EXPECT_TRUE(search.withdraw({{2}, "no longer wanted", ""}));
  EXPECT_THAT(search.withdraw({{2}, "again", ""}).error().message, HasSubstr("not a pending opportunity"));
  EXPECT_THAT(search.withdraw({{1}, " ", ""}).error().message, HasSubstr("no reason"));
}

} // namespace
} // namespace tik::search::test
