// Bad input: one sentence with place and remedy, exit code 2, nothing changed.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include "src/search/search.h"
#include "tests/cli/golden.h"
#include "tests/cli/sample_search.h"

namespace tik::cli::test {
namespace {

class BadInput : public testing::Test {
 protected:
  // Runs a command that must be refused and must leave the search as it was.
  void expect_refused(std::vector<std::string> const& command, std::vector<std::string> const& words) {
    auto const files = content_of(search_);
    std::string const records = records_of(search_);
    expect_bad_input(tik(command, {{"TIK_DIR", search_}}), words);
    EXPECT_EQ(content_of(search_), files);
    EXPECT_EQ(records_of(search_), records);
  }

  TemporaryFolder folder_;
  std::string search_ = folder_ / "search";
  SampleSearch sample_{search_};
};

TEST_F(BadInput, FolderWithoutASearch) {
  for (std::string const command : {"status", "log", "best", "report", "run", "verify"})
    expect_bad_input(tik({command, folder_ / "nothing"}), {folder_ / "nothing", "tik new"});
}

TEST_F(BadInput, SpecificationThatIsNotThere) {
  expect_bad_input(tik({"new", folder_ / "fresh", "--spec", folder_ / "none.toml"}), {"none.toml"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "fresh"));
}

TEST_F(BadInput, SpecificationThatIsMalformed) {
  spill(folder_ / "spec.toml", "schema = 1\nname = [\n");
  expect_bad_input(tik({"new", folder_ / "fresh", "--spec", folder_ / "spec.toml"}), {"spec.toml:"});
  spill(folder_ / "spec.toml", replaced(sample_specification(), "tokens = 256", "token = 256"));
  expect_bad_input(tik({"new", folder_ / "fresh", "--spec", folder_ / "spec.toml"}), {"spec.toml:", "token", "tokens"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "fresh"));
}

TEST_F(BadInput, RootThatIsNotThereOrHasNoManifest) {
  spill(folder_ / "spec.toml", sample_specification());
  expect_bad_input(tik({"new", folder_ / "fresh", "--spec", folder_ / "spec.toml"}), {"root"});
  expect_bad_input(tik({"new", folder_ / "fresh", "--spec", folder_ / "spec.toml", "--root", folder_ / "none"}), {"none"});
  std::filesystem::create_directories(folder_ / "empty");
  expect_bad_input(tik({"new", folder_ / "fresh", "--spec", folder_ / "spec.toml", "--root", folder_ / "empty"}),
                   {"implementation.toml"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "fresh"));
}

TEST_F(BadInput, TargetOfAGpuOnAMachineWithoutOne) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has a GPU";
  std::string const sources = TIK_SOURCE_DIR, specification = sources + "/targets/attention-h200/spec.toml";
  expect_bad_input(tik({"evaluate", specification, sources + "/operators/attention/sm90_simple"}), {"sm_90a", "no NVIDIA GPU"});
  expect_bad_input(tik({"new", folder_ / "fresh", "--spec", specification}), {"sm_90a", "no NVIDIA GPU"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "fresh"));
}

TEST_F(BadInput, NewSearchWhereSomethingIs) {
  spill(folder_ / "spec.toml", sample_specification());
  expect_refused({"new", search_, "--spec", folder_ / "spec.toml", "--root", folder_ / "empty"}, {search_});
}

TEST_F(BadInput, SpecificationThatChangedAfterItWasSealed) {
  spill(search_ + "/spec.toml", sample_specification() + "# faster\n");
  expect_refused({"run", search_}, {"spec.toml", "sealed"});
  expect_refused({"status"}, {"spec.toml", "sealed"});
}

// A search of an earlier program: the rules of its database are put back after the version is written.
TEST_F(BadInput, SearchSealedUnderOlderChecks) {
  {
    SQLite::Database database(search_ + "/search.db", SQLite::OPEN_READWRITE);
    std::vector<std::pair<std::string, std::string>> triggers;
    SQLite::Statement rows(database, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'search'");
    while (rows.executeStep()) triggers.emplace_back(rows.getColumn(0).getString(), rows.getColumn(1).getString());
    rows.reset();
    ASSERT_FALSE(triggers.empty());
    for (auto const& [name, sql] : triggers) database.exec("DROP TRIGGER " + name);
    ASSERT_EQ(database.exec("UPDATE search SET checks_version = '1'"), 1);
    for (auto const& [name, sql] : triggers) database.exec(sql);
  }
  for (std::string const command : {"run", "audit"})
    expect_refused({command, "-C", search_}, {"version 1", "can still be read", "tik best", "--export", "tik new"});
  for (std::string const command : {"status", "log", "best", "report"}) {
    Outcome const outcome = tik({command, search_});
    EXPECT_EQ(outcome.exit_code, 0) << command << ": " << outcome.err;
  }
  Outcome const verified = tik({"verify", search_});
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_THAT(verified.out, testing::HasSubstr("tik best --export"));

  // What can be read and exported can be imported, and is read there as here.
  std::string const exported = folder_ / "exported", copy = folder_ / "copy";
  ASSERT_EQ(tik({"export", search_, "--out", exported}).exit_code, 0);
  Outcome const imported = tik({"import", exported, copy});
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.out, testing::HasSubstr("version 1 of the checks"));
  for (std::vector<std::string> const& command :
       {std::vector<std::string>{"status", "--json"}, {"log", "--json"}, {"show", "U4"}})
    EXPECT_EQ(tik(command, {{"TIK_DIR", copy}}).out, tik(command, {{"TIK_DIR", search_}}).out) << command[0];
  expect_bad_input(tik({"run", copy}), {"version 1", "can still be read"});
}

// The page of an old record, which the next steps would not have read.
TEST_F(BadInput, DamageIsFoundBeforeAnythingIsWritten) {
  std::string const file = search_ + "/search.db", whole = slurp(file);
  std::size_t const at = whole.find("Hint the cache about K and V");
  ASSERT_NE(at, std::string::npos);
  spill(file, std::string(whole).replace(at, 4, "Sink"));
  std::string const damaged = slurp(file);
  for (std::vector<std::string> const& command :
       {std::vector<std::string>{"run", search_, "--steps", "1"}, {"audit", "-C", search_}, {"mcp", search_}}) {
    Outcome const outcome = tik(command);
    EXPECT_EQ(outcome.exit_code, 4) << command[0];
    EXPECT_THAT(outcome.err, testing::AllOf(testing::HasSubstr("nothing was written"), testing::HasSubstr("tik verify")));
    EXPECT_EQ(slurp(file), damaged) << command[0];
  }
  EXPECT_EQ(tik({"status", search_}).exit_code, 0) << "what is readable stays readable";
}

TEST_F(BadInput, SecondRunOnTheSameSearch) {
  auto const first = search::Search::open(search_, search::Search::Mode::write);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  expect_bad_input(tik({"run", search_}), {std::to_string(getpid())});
  EXPECT_EQ(tik({"status", search_}).exit_code, 0);
}

TEST_F(BadInput, UnknownAgent) { expect_refused({"run", search_, "--agent", "oracle"}, {"oracle", "builtin"}); }

TEST_F(BadInput, LimitsThatNoNumberReaches) {
  for (std::string const text : {"nan", "inf", "-1", "0", "ten", "1e999"})
    expect_refused({"run", search_, "--seconds", text}, {"--seconds", "'" + text + "'", "above 0"});
  expect_refused({"run", search_, "--agent", "model", "--max-cost", "nan"}, {"--max-cost", "'nan'"});
  expect_refused({"log", search_, "--limit", "-1"}, {"--limit: '-1' is not a number of at least 0"});
}

TEST_F(BadInput, OptionsOfAnotherAgent) {
  expect_refused({"run", search_, "--exchanges", "recorded.jsonl"}, {"--exchanges", "--agent"});
  expect_refused({"run", search_, "--steps", "1", "--max-cost", "1"}, {"--max-cost", "--agent"});
  expect_refused({"run", search_, "--old-limit-name"}, {"--old-limit-name", "--agent"});
}

TEST_F(BadInput, IdsThatAreNone) {
  expect_refused({"show", "U0"}, {"U0", "U1"});
  expect_refused({"show", "I99999999999999999999"}, {"large"});
  expect_refused({"show", "X7"}, {"X7", "I7"});
  expect_refused({"show", "I"}, {"I"});
  expect_refused({"show", "I-1"}, {"I-1"});
  expect_refused({"diff", "U1", "I1"}, {"U1"});
  expect_refused({"decide", "I1", "--status", "continue", "--interpretation", "a", "--reason", "b"}, {"I1"});
}

TEST_F(BadInput, RecordsThatAreNotThere) {
  expect_refused({"show", "I99"}, {"I99", "I5"});
  expect_refused({"show", "O99"}, {"O99"});
  expect_refused({"show", "A99"}, {"A99"});
  expect_refused({"show", "U99"}, {"U99"});
  expect_refused({"show", "L99"}, {"L99"});
  expect_refused({"diff", "I0", "I99"}, {"I99"});
  expect_refused({"audit", "I99"}, {"I99"});
  expect_refused({"decide", "U99", "--status", "continue", "--interpretation", "a", "--reason", "b"}, {"U99"});
  expect_refused({"opportunity", "withdraw", "O99", "--reason", "a"}, {"O99"});
}

TEST_F(BadInput, OpportunityAgainstTheRules) {
  std::vector<std::string> const add = {"opportunity", "add", "--mechanism", "faster"};
  auto const with = [&](std::vector<std::string> const& more) {
    std::vector<std::string> command = add;
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  expect_refused(with({"--workload", "full-256", "--evidence", "U1", "--for", "I3"}), {"I3"});
  expect_refused(with({"--workload", "full-999", "--evidence", "U1", "--for", "I0"}), {"full-999"});
  expect_refused(with({"--workload", "full-256", "--evidence", "U99", "--for", "I0"}), {"U99"});
  expect_refused(with({"--entry-point", "sideways", "--evidence", "U1", "--for", "I0"}), {"sideways"});
  expect_refused(with({"--kind", "wish", "--workload", "full-256", "--evidence", "U1", "--for", "I0"}), {"wish"});
  expect_refused({"opportunity", "withdraw", "O1", "--reason", "done"}, {"O1"});
}

TEST_F(BadInput, ActionFromParentsThatMayNotBe) {
  expect_refused({"act", "begin", "O6", "--parent", "I3", "--folder", folder_ / "edit"}, {"I3"});
  expect_refused({"act", "begin", "O6", "--parent", "I4", "--folder", folder_ / "edit"}, {"I4", "reactivate"});
  expect_refused({"act", "begin", "O6", "--parent", "I0", "--folder", folder_ / "edit"}, {"O6"});
  expect_refused({"act", "begin", "O1", "--parent", "I0", "--folder", folder_ / "edit"}, {"O1"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "edit"));
}

TEST_F(BadInput, ActionWithoutAChangeOrWithoutWords) {
  ASSERT_EQ(tik({"act", "begin", "O6", "--parent", "I5", "--folder", folder_ / "edit", "-C", search_}).exit_code, 0);
  std::string const words = slurp(folder_ / "edit/action.toml");
  expect_refused({"act", "submit", folder_ / "edit"}, {"action.toml:", "scope"});
  std::string filled = replaced(words, "scope = \"\"", "scope = \"the K tile\"");
  filled = replaced(filled, "expected_effect = \"\"", "expected_effect = \"fewer stalls\"");
  filled = replaced(filled, "contradiction = \"\"", "contradiction = \"full-256 is not faster\"");
  spill(folder_ / "edit/action.toml", filled);
  auto const before = content_of(search_ + "/sources.git/refs");
  expect_bad_input(tik({"act", "submit", folder_ / "edit", "-C", search_}), {"chang"});
  EXPECT_EQ(content_of(search_ + "/sources.git/refs"), before);
  EXPECT_EQ(json_of(tik({"status", search_, "--json"}))["audits"], 5);
}

TEST_F(BadInput, ActionFileWithAKeyThatIsNone) {
  ASSERT_EQ(tik({"act", "begin", "O6", "--parent", "I5", "--folder", folder_ / "edit", "-C", search_}).exit_code, 0);
  spill(folder_ / "edit/action.toml", "scop = \"x\"\n" + slurp(folder_ / "edit/action.toml"));
  expect_refused({"act", "submit", folder_ / "edit"}, {"action.toml:1", "scop", "scope"});
  expect_refused({"act", "submit", folder_ / "nowhere"}, {"nowhere"});
}

TEST_F(BadInput, DecisionAgainstTheRules) {
  auto const decide = [&](std::string const& audit, std::string const& implementation, std::string const& status) {
    return std::vector<std::string>{
        "decide", audit, "--implementation", implementation, "--status", status, "--interpretation", "a", "--reason", "b"};
  };
  expect_refused(decide("U4", "I3", "continue"), {"I3"});
  expect_refused(decide("U6", "I5", "reactivate"), {"I5"});
  expect_refused(decide("U6", "I5", "pause"), {"pause"});
  expect_refused({"decide", "U6", "--status", "continue"}, {"--interpretation"});
  spill(folder_ / "decisions.toml", "[[decisions]]\nimplementation = \"I5\"\nstatus = \"pause\"\n");
  expect_refused({"decide", "U6", "--file", folder_ / "decisions.toml"}, {"decisions.toml:"});
}

TEST_F(BadInput, NothingWaitsForAnAudit) { expect_refused({"audit"}, {"waits"}); }

TEST_F(BadInput, EvaluationOfWhatIsNotThere) {
  spill(folder_ / "spec.toml", sample_specification());
  expect_bad_input(tik({"evaluate", folder_ / "none.toml", folder_.path().string()}), {"none.toml"});
  expect_bad_input(tik({"evaluate", folder_ / "spec.toml", folder_ / "none"}), {"none", "implementation.toml"});
  expect_bad_input(tik({"evaluate", folder_ / "spec.toml", folder_.path().string(), "--devices", "1"}), {"target is cpu"});
  expect_bad_input(tik({"evaluate", folder_ / "spec.toml", folder_.path().string(), "--incumbent", folder_ / "none"}),
                   {"none"});
}

TEST_F(BadInput, ProfilesThatNobodyCanMake) {
  std::string const sources = TIK_SOURCE_DIR, root = sources + "/operators/attention/cpu";
  spill(folder_ / "spec.toml", sample_specification());
  expect_bad_input(tik({"evaluate", folder_ / "spec.toml", root, "--profile", "full-256"}), {"profile", "GPU", "\"cpu\""});
  expect_bad_input(tik({"evaluate", "--bundle", folder_ / "b", "--out", folder_ / "o", "--profile", "full-256"}),
                   {"--profile", "bundle"});
  expect_refused({"audit", "--profile", "full-256", "--runner", "false"}, {"--profile", "--runner"});
}

TEST_F(BadInput, ImportOfWhatIsNoExport) {
  expect_bad_input(tik({"import", folder_ / "none", folder_ / "fresh"}), {"none"});
  spill(folder_ / "export/records.jsonl", "{}\n");
  expect_bad_input(tik({"import", folder_ / "export", folder_ / "fresh"}), {"records.jsonl"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "fresh"));
}

TEST_F(BadInput, DamageIsToldApartFromBadInput) {
  spill(search_ + "/search.db", std::string(8192, 'x'));
  Outcome const outcome = tik({"status", search_});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_THAT(outcome.err, testing::StartsWith("tik: "));
}

TEST_F(BadInput, OutputThatCannotBeWrittenIsTheMachinesFault) {
  std::string const command =
      std::string("'") + TIK_BINARY + "' status '" + search_ + "' > /dev/full 2> '" + folder_ / "err" + "'";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 3);
  EXPECT_THAT(slurp(folder_ / "err"), testing::HasSubstr("cannot be written"));
}

} // namespace
} // namespace tik::cli::test
