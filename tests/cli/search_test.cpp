// Whole searches by the command line: real candidates, really built, checked and measured.
#include <gmock/gmock.h>

#include "tests/cli/golden.h"
#include "tests/cli/small_search.h"

namespace tik::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(WholeSearch, RunsReportsAndIsVerified) {
  TemporaryFolder const folder;
  std::string const search = folder / "search";
  ASSERT_NO_FATAL_FAILURE(make_small_search(folder, search));
  Outcome const run = tik({"run", search, "--steps", "3", "--seed", "5"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("step 1: I1 ("));
  EXPECT_THAT(run.out, HasSubstr("step 3: I3 ("));
  EXPECT_THAT(run.out, HasSubstr("stopped: this run's limit of 3 steps is reached\n"));
  EXPECT_THAT(run.out, HasSubstr("report: " + search + "/report/report.md\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("\r"))) << "plain lines when the output is not a terminal";
  for (std::string const file : {"report.md", "speedup.svg", "latency.svg", "lineage.svg"})
    EXPECT_TRUE(std::filesystem::exists(search + "/report/" + file)) << file;

  auto const status = json_of(tik({"status", search, "--json"}));
  EXPECT_EQ(status["audits"], 3);
  EXPECT_GE(status["speedup"].get<double>(), 1.0);
  auto const log = json_of(tik({"log", search, "--json"}));
  EXPECT_EQ(log["attempts"].size(), 4u);
  for (auto const& attempt : log["attempts"]) EXPECT_FALSE(attempt["audit"].is_null());
  auto const audit = json_of(tik({"show", "U1", "-C", search, "--json"}));
  EXPECT_EQ(audit["record"]["report"]["stages"][0]["name"], "build");
  EXPECT_EQ(tik({"verify", search}).exit_code, 0);

  EXPECT_EQ(tik({"best", search, "--export", folder / "best"}).exit_code, 0);
  Outcome const evaluated = tik({"evaluate", folder / "spec.toml", folder / "best", "--json"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(json_of(evaluated)["source_sha256"], json_of(tik({"best", search, "--json"}))["source_sha256"]);
}

// One document a line: audits as they were recorded, and last why the run ended.
void expect_json_lines(std::string const& text, std::string const& search) {
  std::istringstream lines(text);
  std::vector<nlohmann::ordered_json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::ordered_json::parse(line));
  ASSERT_GE(events.size(), 2u) << text;
  auto const status = json_of(tik({"status", search, "--json"}));
  auto const log = json_of(tik({"log", search, "--json"}));
  nlohmann::ordered_json const& audit = events[events.size() - 2];
  EXPECT_EQ(audit["event"], "audit");
  EXPECT_EQ(audit["steps"], status["audits"]);
  EXPECT_EQ(audit["attempt"]["id"], log["attempts"][0]["id"]);
  EXPECT_EQ(audit["attempt"]["verdict"], log["attempts"][0]["verdict"]);
  EXPECT_EQ(audit["audit"], log["attempts"][0]["audit"]);
  EXPECT_EQ(events.back()["event"], "stopped");
  EXPECT_EQ(events.back()["reason"], "agent");
  EXPECT_EQ(events.back()["report"], search + "/report/report.md");
  for (nlohmann::ordered_json const& event : events) EXPECT_EQ(event["schema"], 1);
}

TEST(WholeSearch, StopsOnCtrlCWithinASecondAndGoesOnWhereItWas) {
  TemporaryFolder const folder;
  std::string const search = folder / "search";
  ASSERT_NO_FATAL_FAILURE(make_small_search(folder, search));
  Program first({"run", search, "--seed", "5"});
  ASSERT_TRUE(first.wait_for_output("step 1: ", 300));
  expect_bad_input(tik({"run", search}), {std::to_string(first.process())});
  first.signal(SIGINT);
  Outcome const interrupted = first.finish(60);
  EXPECT_EQ(interrupted.exit_code, 130);
  EXPECT_LT(interrupted.seconds, 3.0) << "a second, and room for a loaded machine";
  EXPECT_THAT(interrupted.err, HasSubstr("tik run " + search));

  auto const before = json_of(tik({"status", search, "--json"}));
  EXPECT_EQ(tik({"verify", search}).exit_code, 0);
  Outcome const second = tik({"run", search, "--seed", "5", "--steps", "1", "--json"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  expect_json_lines(second.out, search);
  auto const after = json_of(tik({"status", search, "--json"}));
  EXPECT_GT(after["audits"].get<int>(), before["audits"].get<int>());
  EXPECT_LE(after["audits"].get<int>(), before["audits"].get<int>() + 2) << "the one under way and one more";
  EXPECT_EQ(tik({"verify", search}).exit_code, 0);
}

TEST(WholeSearch, APersonIsTheAgentStepByStep) {
  TemporaryFolder const folder;
  std::string const search = folder / "search";
  std::map<std::string, std::string> const here = {{"TIK_DIR", search}};
  ASSERT_NO_FATAL_FAILURE(make_small_search(folder, search));
  Outcome const decided = tik(
      {"decide", "U1", "--status", "continue", "--interpretation", "scalar loops", "--reason", "the root is where to begin"},
      here);
  EXPECT_EQ(decided.exit_code, 0) << decided.err;
  Outcome const added = tik({"opportunity", "add", "--mechanism", "Let the compiler optimize harder", "--workload", "full-64",
                             "--evidence", "U1", "--note", "loops are not vectorized", "--for", "I0"},
                            here);
  EXPECT_EQ(added.out, "O1\n") << added.err;

  ASSERT_EQ(tik({"act", "begin", "O1", "--parent", "I0", "--folder", folder / "edit"}, here).exit_code, 0);
  std::string words = slurp(folder / "edit/action.toml");
  words = replaced(words, "scope = \"\"", "scope = \"a comment\"");
  words = replaced(words, "expected_effect = \"\"", "expected_effect = \"none\"");
  words = replaced(words, "contradiction = \"\"", "contradiction = \"any change of latency\"");
  spill(folder / "edit/action.toml", words);
  std::string const full = folder / "edit/source/full.cpp";
  spill(full, slurp(full) + "// one line more\n");
  auto const action = json_of(tik({"act", "submit", folder / "edit", "--json"}, here));
  EXPECT_EQ(action["action"]["form"], "full-only");

  auto const audit = json_of(tik({"audit", "--json"}, here));
  EXPECT_EQ(audit["verified"], true);
  expect_bad_input(tik({"act", "submit", folder / "edit"}, here), {"U2"});
  spill(
      folder / "decisions.toml",
      "[[decisions]]\nimplementation = \"I1\"\nstatus = \"archive\"\ninterpretation = \"no effect\"\nreason = \"as expected\"\n"
      "[[decisions.follow_ups]]\nmechanism = \"Unroll\"\nworkloads = [\"full-64\"]\nevidence = [\"U2\"]\nimplementations = "
      "[\"I1\"]\n"
      "note = \"loops remain\"\n");
  auto const decisions = json_of(tik({"decide", "U2", "--file", folder / "decisions.toml", "--json"}, here));
  EXPECT_EQ(decisions["decisions"][0]["status"], "archive");
  auto const status = json_of(tik({"status", "--json"}, here));
  EXPECT_THAT(status["archive"], testing::ElementsAre("I1"));
  EXPECT_THAT(status["pending"], testing::ElementsAre("O2"));
  EXPECT_EQ(tik({"opportunity", "withdraw", "O2", "--reason", "enough"}, here).exit_code, 0);
  EXPECT_EQ(tik({"verify"}, here).exit_code, 0);
}

TEST(Evaluate, SaysNoWithExitCodeOneAndShowsWhatTheCompilerSaid) {
  TemporaryFolder const folder;
  spill(folder / "spec.toml", small_specification());
  std::filesystem::copy(cpu_root(), folder / "broken");
  std::string const decode = folder / "broken/decode.cpp";
  spill(decode, "#error this does not compile\n" + slurp(decode));
  Outcome const outcome = tik({"evaluate", folder / "spec.toml", folder / "broken"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("not verified"));
  EXPECT_THAT(outcome.out, HasSubstr("this does not compile"));
}

TEST(Doctor, FindsThisMachineFit) {
  auto const outcome = tik({"doctor", "--json"});
  auto const json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(outcome.exit_code, json["fit"].get<bool>() ? 0 : 1);
  for (auto const& check : json["checks"])
    EXPECT_EQ(check["remedy"].get<std::string>().empty(), check["health"] == "ok") << check;
}

// What the loader finds first under its name is no library.
TEST(Doctor, NamesARemedyForAMissingLibcurl) {
  TemporaryFolder const folder;
  for (std::string const name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) spill(folder / name, "no library");
  std::map<std::string, std::string> const environment = {{"LD_LIBRARY_PATH", folder.path().string()}};
  auto const health_of_libcurl = [](Outcome const& outcome) {
    auto const json = nlohmann::json::parse(outcome.out); // must outlive the loop
    for (auto const& check : json["checks"])
      if (check["name"] == "libcurl") return check["health"].get<std::string>();
    return std::string("not checked");
  };
  EXPECT_EQ(health_of_libcurl(tik({"doctor", "--json"})), "ok");
  Outcome const outcome = tik({"doctor", "--json"}, environment);
  EXPECT_EQ(health_of_libcurl(outcome), "absent");
  EXPECT_THAT(outcome.out, HasSubstr("apt-get install libcurl4"));
}

TEST(Doctor, NamesARemedyForAMissingCompiler) {
  TemporaryFolder const folder;
  Outcome const outcome = tik({"doctor"}, {{"PATH", folder.path().string()}});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("apt-get install g++"));
  auto const json = nlohmann::json::parse(tik({"doctor", "--json"}, {{"PATH", folder.path().string()}}).out);
  EXPECT_FALSE(json["fit"].get<bool>());
  for (auto const& check : json["checks"])
    EXPECT_EQ(check["remedy"].get<std::string>().empty(), check["health"] == "ok") << check;
}

} // namespace
} // namespace tik::cli::test
