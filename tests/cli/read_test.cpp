// What the reading commands print about a search whose records are known.
#include <gmock/gmock.h>

#include "tests/cli/golden.h"
#include "tests/cli/sample_search.h"

namespace tik::cli::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Reading : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string search_ = folder_ / "search";
  SampleSearch sample_{search_};
};

TEST_F(Reading, StatusShowsWhereTheSearchStands) {
  Outcome const outcome = tik({"status", search_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  auto const json = json_of(tik({"status", search_, "--json"}));
  expect_golden(replaced(outcome.out, json["seal"].get<std::string>().substr(0, 12), "SEAL"), "status.txt");
}

TEST_F(Reading, StatusAsJsonHoldsTheFigures) {
  auto const json = json_of(tik({"status", search_, "--json"}));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["audits"], 5);
  EXPECT_EQ(json["promotions"], 2);
  EXPECT_DOUBLE_EQ(json["speedup"].get<double>(), 4.0);
  EXPECT_EQ(json["incumbent"], "I5");
  EXPECT_EQ(json["patience"]["used"], 0);
  EXPECT_THAT(json["stepping_stones"], ElementsAre("I1", "I4"));
  EXPECT_THAT(json["archive"], ElementsAre("I4"));
  EXPECT_THAT(json["pending"], ElementsAre("O6"));
  EXPECT_EQ(json["verdicts"]["failed"], 1);
  EXPECT_EQ(json["workloads"].size(), 2u);
}

TEST_F(Reading, LogDrawsTheLineage) { expect_golden(tik({"log", search_}).out, "log.txt"); }

TEST_F(Reading, LogDrawsInAsciiWhereTheLocaleKnowsNoMore) {
  std::string const text = tik({"log", search_}, {{"LANG", "C"}}).out;
  std::string graph;
  for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1)
    graph += text.substr(start, std::min<std::size_t>(8, text.find('\n', start) - start)) + '\n';
  EXPECT_TRUE(std::all_of(graph.begin(), graph.end(), [](char letter) { return static_cast<unsigned char>(letter) < 128; }))
      << graph;
}

TEST_F(Reading, LogKeepsItsLimitAndSaysSo) {
  Outcome const outcome = tik({"log", search_, "--limit", "2"});
  EXPECT_THAT(outcome.out, HasSubstr("I5"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("I3")));
  EXPECT_THAT(outcome.out, HasSubstr("4 implementations older; --limit 0 shows all"));
  EXPECT_EQ(json_of(tik({"log", search_, "--limit", "2", "--json"}))["attempts"].size(), 2u);
}

TEST_F(Reading, LogAsJsonTellsWhatFailedWhere) {
  auto const json = json_of(tik({"log", search_, "--json"}));
  ASSERT_EQ(json["attempts"].size(), 6u);
  auto const& failed = json["attempts"][2];
  EXPECT_EQ(failed["id"], "I3");
  EXPECT_EQ(failed["verdict"], "failed");
  EXPECT_EQ(failed["failed_stage"], "consistency");
  EXPECT_EQ(failed["form"], "full-only");
  EXPECT_TRUE(failed["total_us"].is_null());
  EXPECT_THAT(json["attempts"][0]["parents"], ElementsAre("I2", "I4"));
}

TEST_F(Reading, ShowLinksRecordsInBothDirections) {
  auto const implementation = json_of(tik({"show", "I2", "-C", search_, "--json"}));
  EXPECT_THAT(implementation["links"]["parents"], ElementsAre("I1"));
  EXPECT_THAT(implementation["links"]["action"], ElementsAre("A2"));
  EXPECT_THAT(implementation["links"]["audits"], ElementsAre("U3"));
  EXPECT_THAT(implementation["links"]["offspring"], ElementsAre("I5"));
  EXPECT_THAT(implementation["links"]["opportunities"], ElementsAre("O5"));
  auto const opportunity = json_of(tik({"show", "O4", "-C", search_, "--json"}));
  EXPECT_THAT(opportunity["links"]["origin"], ElementsAre("L2"));
  EXPECT_THAT(opportunity["links"]["actions"], ElementsAre("A2"));
  EXPECT_THAT(opportunity["links"]["evidence"], ElementsAre("U2"));
  auto const action = json_of(tik({"show", "A5", "-C", search_, "--json"}));
  EXPECT_THAT(action["links"]["parents"], ElementsAre("I2", "I4"));
  EXPECT_THAT(action["links"]["result"], ElementsAre("I5"));
  auto const audit = json_of(tik({"show", "U5", "-C", search_, "--json"}));
  EXPECT_THAT(audit["links"]["implementation"], ElementsAre("I4"));
  EXPECT_THAT(audit["links"]["decisions"], ElementsAre("L5"));
  auto const decision = json_of(tik({"show", "L5", "-C", search_, "--json"}));
  EXPECT_THAT(decision["links"]["follow-ups"], ElementsAre("O5"));
  EXPECT_THAT(json_of(tik({"show", "O7", "-C", search_, "--json"}))["state"]["withdrawn"], "the loop is short");
}

TEST_F(Reading, ShowPrintsEveryTypeOfRecordForPeople) {
  EXPECT_THAT(tik({"show", "I5", "-C", search_}).out, HasSubstr("promoted, the incumbent"));
  EXPECT_THAT(tik({"show", "O6", "-C", search_}).out, HasSubstr("pending"));
  EXPECT_THAT(tik({"show", "A1", "-C", search_}).out, HasSubstr("+// full, version 1"));
  EXPECT_THAT(tik({"show", "L2", "-C", search_}).out, HasSubstr("O4"));
  expect_golden(tik({"show", "U4", "-C", search_}).out, "show_failed_audit.txt");
}

TEST_F(Reading, DiffShowsTheSourcesOrTheEvidence) {
  Outcome const sources = tik({"diff", "I0", "I5", "-C", search_});
  EXPECT_THAT(sources.out, HasSubstr("-// full, version 0"));
  EXPECT_THAT(sources.out, HasSubstr("+// full, version 5"));
  Outcome const evidence = tik({"diff", "I0", "I5", "--evidence", "-C", search_});
  EXPECT_THAT(evidence.out, HasSubstr("packed_fma"));
  EXPECT_THAT(evidence.out, HasSubstr("4.00x"));
}

TEST_F(Reading, BestExportsTheSourcesOfTheIncumbent) {
  Outcome const outcome = tik({"best", search_, "--export", folder_ / "best"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("I5, 4.00x as fast as the root"));
  EXPECT_EQ(slurp(folder_ / "best/full.cpp"), "// full, version 5\n");
  EXPECT_EQ(json_of(tik({"best", search_, "--json"}))["id"], "I5");
}

TEST_F(Reading, BestRefusesAFolderThatHoldsSomething) {
  spill(folder_ / "best/mine.txt", "mine");
  expect_bad_input(tik({"best", search_, "--export", folder_ / "best"}), {"best"});
  EXPECT_EQ(slurp(folder_ / "best/mine.txt"), "mine");
}

TEST_F(Reading, ReportWritesMarkdownAndPlots) {
  Outcome const outcome = tik({"report", search_, "--out", folder_ / "report"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  auto const status = json_of(tik({"status", search_, "--json"}));
  expect_golden(replaced(slurp(folder_ / "report/report.md"), status["seal"].get<std::string>(), "SEAL"), "report.md");
  expect_golden(slurp(folder_ / "report/lineage.svg"), "lineage.svg");
  expect_golden(slurp(folder_ / "report/speedup.svg"), "speedup.svg");
  expect_golden(slurp(folder_ / "report/latency.svg"), "latency.svg");
}

TEST_F(Reading, ReportGoesIntoTheSearchUnlessToldOtherwise) {
  EXPECT_EQ(tik({"report", search_}).out, search_ + "/report/report.md\n");
  EXPECT_TRUE(std::filesystem::exists(search_ + "/report/lineage.svg"));
}

TEST_F(Reading, OpportunitiesAreListedByTheirState) {
  EXPECT_THAT(tik({"opportunity", "list", "-C", search_}).out, Not(HasSubstr("withdrawn")));
  auto const all = json_of(tik({"opportunity", "list", "--all", "--json", "-C", search_}));
  ASSERT_EQ(all["opportunities"].size(), 7u);
  EXPECT_EQ(all["opportunities"][0]["state"], "taken");
  EXPECT_EQ(all["opportunities"][5]["state"], "pending");
  EXPECT_EQ(all["opportunities"][6]["state"], "withdrawn");
}

TEST_F(Reading, TheSearchIsNamedByArgumentOptionVariableOrCurrentFolder) {
  std::string const expected = tik({"status", search_}).out;
  EXPECT_EQ(tik({"status", "-C", search_}).out, expected);
  EXPECT_EQ(tik({"status"}, {{"TIK_DIR", search_}}).out, expected);
  EXPECT_EQ(tik({"status"}, {}, search_).out, expected);
}

TEST_F(Reading, OutputHasNoColourWhenItIsNotATerminal) {
  for (std::vector<std::string> const& command :
       {std::vector<std::string>{"status"}, {"log"}, {"show", "U4"}, {"show", "A1"}, {"diff", "I0", "I1"}})
    EXPECT_THAT(tik(command, {{"TIK_DIR", search_}}).out, Not(HasSubstr("\x1b")));
}

TEST_F(Reading, ChangesNothing) {
  auto const files = content_of(search_);
  std::string const records = records_of(search_);
  for (std::vector<std::string> const& command : {std::vector<std::string>{"status"},
                                                  {"log"},
                                                  {"show", "I1"},
                                                  {"diff", "I0", "I1"},
                                                  {"best"},
                                                  {"opportunity", "list"},
                                                  {"show", "U3", "--json"}})
    EXPECT_EQ(tik(command, {{"TIK_DIR", search_}}).exit_code, 0);
  EXPECT_EQ(content_of(search_), files);
  EXPECT_EQ(records_of(search_), records);
}

} // namespace
} // namespace tik::cli::test
