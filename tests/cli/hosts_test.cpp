// The search here, the evaluator on another host: by bundles that are carried over, and by a command that reaches a stand-in
// host, a folder with another home and another place for temporary files. All candidates are really built, checked and
// measured.
#include <gmock/gmock.h>

#include <functional>

#include "src/base/sha256.h"
#include "tests/cli/golden.h"
#include "tests/cli/sample_search.h"
#include "tests/cli/small_search.h"

namespace tik::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

// The other host: nothing of the search is there, and what it writes stays below its folder.
class StandInHost {
 public:
  StandInHost() {
    std::filesystem::create_directories(folder_ / "tmp");
    // How a shell reaches it, as `ssh host tik` would.
    script("tik", "exec \"$TIK\" \"$@\"");
  }
  std::string operator/(std::string const& name) const { return folder_ / name; }

  std::map<std::string, std::string> environment() const { return {{"HOME", folder_ / "home"}, {"TMPDIR", folder_ / "tmp"}}; }
  Outcome evaluate(std::string const& bundle, std::string const& out) const {
    return tik({"evaluate", "--bundle", bundle, "--out", out}, environment(), folder_.path().string());
  }
  // A command that enters this host and does `body` there.
  std::string script(std::string const& name, std::string const& body) const {
    std::string const file = folder_ / (name + ".sh");
    spill(file, "cd '" + folder_.path().string() + "' || exit 9\nexport HOME='" + (folder_ / "home") + "' TMPDIR='" +
                    (folder_ / "tmp") + "' TIK='" + TIK_BINARY + "'\n" + body + '\n');
    return "sh " + file;
  }
  std::string command() const { return "sh " + (folder_ / "tik.sh"); }
  // Nothing of an evaluation is left behind but its reports.
  bool clean() const { return std::filesystem::is_empty(folder_ / "tmp"); }

 private:
  TemporaryFolder folder_;
};

void write_words(std::string const& file) {
  std::string words = slurp(file);
  for (std::string const key : {"scope", "expected_effect", "contradiction"})
    words = replaced(words, key + " = \"\"", key + " = \"a test\"");
  spill(file, words);
}

class HostsApart : public testing::Test {
 protected:
  // The root is audited on the other host, and three actions form a batch: a comment, source that does not compile, another
  // comment.
  static void SetUpTestSuite() {
    if (original_) return;
    original_ = std::make_unique<TemporaryFolder>();
    TemporaryFolder const& folder = *original_;
    StandInHost const host;
    spill(folder / "spec.toml", small_specification());
    std::vector<std::string> const begin = {"new", folder / "search", "--spec", folder / "spec.toml", "--root", cpu_root()};
    auto const with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), begin.begin(), begin.end());
      return tik(more);
    };
    ASSERT_EQ(with({"--bundle", folder / "root.tik"}).exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(folder / "search"));
    Outcome const evaluated = host.evaluate(folder / "root.tik", folder / "root-reports");
    ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
    EXPECT_TRUE(host.clean());
    Outcome const made = with({"--apply", folder / "root-reports"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    std::map<std::string, std::string> const here = {{"TIK_DIR", folder / "search"}};
    ASSERT_EQ(
        tik({"decide", "U1", "--status", "continue", "--interpretation", "a root", "--reason", "to begin"}, here).exit_code, 0);
    for (std::string const number : {"1", "2", "3"}) {
      std::string const edit = folder / ("edit" + number);
      ASSERT_EQ(tik({"opportunity", "add", "--mechanism", "Change " + number, "--workload", "full-64", "--evidence", "U1",
                     "--for", "I0"},
                    here)
                    .exit_code,
                0);
      ASSERT_EQ(tik({"act", "begin", "O" + number, "--parent", "I0", "--folder", edit}, here).exit_code, 0);
      write_words(edit + "/action.toml");
      std::string const full = edit + "/source/full.cpp";
      spill(full, slurp(full) + (number == "2" ? "#error not today\n" : "// change " + number + "\n"));
      Outcome const submitted = tik({"act", "submit", edit, "--batch"}, here);
      ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
    }
    ASSERT_EQ(tik({"audit", "--bundle", folder / "three.tik"}, here).exit_code, 0);
    Outcome const three = host.evaluate(folder / "three.tik", folder / "reports");
    ASSERT_EQ(three.exit_code, 0) << three.err;
    EXPECT_THAT(three.out, HasSubstr("2/3 I2: build failed: "));
  }

  void SetUp() override {
    ASSERT_TRUE(original_ && std::filesystem::exists(*original_ / "reports/index.json"));
    for (std::string const name : {"search", "reports"})
      std::filesystem::copy(*original_ / name, folder_ / name, std::filesystem::copy_options::recursive);
    std::filesystem::copy(*original_ / "three.tik", folder_ / "three.tik");
  }

  std::string search() const { return folder_ / "search"; }
  Outcome in_search(std::vector<std::string> arguments) const { return tik(std::move(arguments), {{"TIK_DIR", search()}}); }
  Outcome apply() const { return in_search({"audit", "--apply", folder_ / "reports"}); }
  std::int64_t audits() const { return json_of(in_search({"status", "--json"}))["audits"]; }

  void expect_refused(std::vector<std::string> const& words) const {
    std::string const before = records_of(search());
    expect_bad_input(apply(), words);
    EXPECT_EQ(records_of(search()), before);
  }
  // Changes one report and makes the index agree with it, as someone would who knows the format.
  void change_report(std::string const& id, std::function<void(Json&)> const& change) const {
    std::string const file = folder_ / ("reports/" + id + ".json"), index_file = folder_ / "reports/index.json";
    Json report = Json::parse(slurp(file)), index = Json::parse(slurp(index_file));
    change(report);
    spill(file, report.dump());
    for (Json& entry : index["reports"])
      if (entry["id"] == id) entry["sha256"] = sha256_hex(report.dump());
    spill(index_file, index.dump());
  }

  TemporaryFolder folder_;
  static inline std::unique_ptr<TemporaryFolder> original_;
};

TEST_F(HostsApart, ReportsAreTakenInOnceAndAreAuditsLikeAnyOther) {
  Outcome const first = apply();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  for (std::string const line : {"U2 of I1: ", "U3 of I2: not verified\n", "U4 of I3: ", "Next: tik decide U2"})
    EXPECT_THAT(first.out, HasSubstr(line));
  std::string const records = records_of(search());
  Outcome const again = apply();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("I2: recorded before as U3"));
  EXPECT_EQ(records_of(search()), records);
  EXPECT_EQ(audits(), 3);
  EXPECT_EQ(tik({"verify", search()}).exit_code, 0);
  expect_bad_input(in_search({"audit", "--bundle", folder_ / "none.tik"}), {"No implementation waits"});
  expect_bad_input(in_search({"audit", "I1", "--bundle", folder_ / "none.tik"}), {"I1 is audited already"});
  auto const status = json_of(in_search({"status", "--json"}));
  EXPECT_THAT(status["undecided"], testing::ElementsAre("U2", "U3", "U4"));
  for (std::string const audit : {"U4", "U2"})
    EXPECT_EQ(
        in_search({"decide", audit, "--status", "archive", "--interpretation", "no effect", "--reason", "a comment"}).exit_code,
        0);
  EXPECT_EQ(tik({"verify", search()}).exit_code, 0);
}

TEST_F(HostsApart, ReportThatWasChangedCutOrLostIsRefusedAndChangesNothing) {
  std::string const file = folder_ / "reports/I3.json", whole = slurp(file);
  spill(file, replaced(whole, "\"passed\"", "\"skipped\""));
  expect_refused({"I3.json", "hash differs"});
  spill(file, whole.substr(0, whole.size() / 2));
  expect_refused({"I3.json", "hash differs"});
  std::filesystem::remove(file);
  expect_refused({"I3.json"});
  spill(file, whole);
  std::string const index = folder_ / "reports/index.json", listed = slurp(index);
  spill(index, listed.substr(0, listed.size() / 2));
  expect_refused({"index.json"});
  std::filesystem::remove(index);
  expect_refused({"no reports are there"});
  spill(index, listed);
  EXPECT_EQ(apply().exit_code, 0);
}

TEST_F(HostsApart, ReportAboutSomethingElseIsRefusedAndChangesNothing) {
  change_report("I3", [](Json& report) { report["specification_sha256"] = std::string(64, '0'); });
  expect_refused({"I3", "under the specification 0000"});
  change_report("I3", [](Json& report) { report["evaluator_version"] = "0"; });
  expect_refused({"I3", "evaluator version 0"});
}

TEST_F(HostsApart, LatencyThatDoesNotFollowFromItsSamplesIsRefused) {
  change_report("I3", [](Json& report) { report["workloads"][0]["latency_us"] = 1.0; });
  expect_refused({"I3", "does not follow from its measurement"});
}

TEST_F(HostsApart, ReportsOfAnotherSearchAreRefused) {
  std::string const source = folder_ / "reports";
  std::filesystem::remove_all(source);
  std::filesystem::copy(*original_ / "root-reports", source, std::filesystem::copy_options::recursive);
  expect_refused({"I0", "under the specification"});
}

TEST_F(HostsApart, RootsReportIsRefusedForAnotherRootOrSpecification) {
  std::vector<std::string> const begin = {"new",     folder_ / "other",          "--spec", folder_ / "spec.toml",
                                          "--apply", *original_ / "root-reports"};
  auto const with_root = [&](std::string const& root) {
    std::vector<std::string> arguments = begin;
    arguments.insert(arguments.end(), {"--root", root});
    return tik(arguments);
  };
  spill(folder_ / "spec.toml", replaced(small_specification(), "patience = 30", "patience = 31"));
  expect_bad_input(with_root(cpu_root()), {"I0", "under the specification"});
  spill(folder_ / "spec.toml", small_specification());
  std::filesystem::copy(cpu_root(), folder_ / "root");
  spill(folder_ / "root/full.cpp", slurp(folder_ / "root/full.cpp") + "// more\n");
  expect_bad_input(with_root(folder_ / "root"), {"I0", "about the source"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other"));
  EXPECT_EQ(with_root(cpu_root()).exit_code, 0);
}

TEST_F(HostsApart, EvaluationThatWasKilledGoesOnWhereItWas) {
  StandInHost const host;
  std::string const out = host / "reports";
  {
    Program first({"evaluate", "--bundle", folder_ / "three.tik", "--out", out}, host.environment());
    ASSERT_TRUE(first.wait_for_output("1/3 I1: ", 300));
    first.signal(SIGKILL);
    first.finish();
  }
  EXPECT_TRUE(std::filesystem::exists(out + "/I1.json"));
  std::string const report = slurp(out + "/I1.json");
  spill(out + "/I2.json", "{\"schema\": 1, \"half\": "); // as a writer without care would leave it
  Program second({"evaluate", "--bundle", folder_ / "three.tik", "--out", out}, host.environment());
  ASSERT_TRUE(second.wait_for_output("2/3 I2: ", 300));
  second.signal(SIGINT);
  Outcome const interrupted = second.finish(60);
  EXPECT_EQ(interrupted.exit_code, 130) << interrupted.err;
  EXPECT_THAT(interrupted.err, HasSubstr("2 of 3 reports"));
  EXPECT_LT(interrupted.seconds, 3.0) << "a second, and room for a loaded machine";
  Outcome const third = host.evaluate(folder_ / "three.tik", out);
  EXPECT_EQ(third.exit_code, 0) << third.err;
  EXPECT_THAT(third.out, HasSubstr("1/3 I1: verified"));
  EXPECT_EQ(slurp(out + "/I1.json"), report) << "not made again";
  EXPECT_THAT(third.out, testing::ContainsRegex("2/3 I2: build failed: .*, kept from before"));
  std::filesystem::remove_all(folder_ / "reports");
  std::filesystem::copy(out, folder_ / "reports", std::filesystem::copy_options::recursive);
  EXPECT_EQ(apply().exit_code, 0);
  EXPECT_EQ(audits(), 3);
}

TEST_F(HostsApart, BundleThatIsNoneIsRefusedBeforeAnythingIsWritten) {
  StandInHost const host;
  expect_bad_input(host.evaluate(folder_ / "none.tik", host / "out"), {"none.tik"});
  expect_bad_input(host.evaluate(folder_ / "search/search.db", host / "out"), {"no bundle"});
  std::string const bytes = slurp(folder_ / "three.tik");
  spill(folder_ / "cut.tik", bytes.substr(0, bytes.size() - 10));
  expect_bad_input(host.evaluate(folder_ / "cut.tik", host / "out"), {"cut.tik", "was cut"});
  EXPECT_FALSE(std::filesystem::exists(host / "out"));
  expect_bad_input(tik({"evaluate", "--bundle", folder_ / "three.tik"}), {"--out"});
  expect_bad_input(tik({"evaluate", "--bundle", folder_ / "three.tik", "--out", host / "out", "--devices", "0,1"}),
                   {"target is cpu", "devices"});
  expect_bad_input(tik({"evaluate"}), {"SPEC"});
}

TEST_F(HostsApart, CommandReachesTheHostForAnAudit) {
  StandInHost const host;
  Outcome const audited = in_search({"audit", "--runner", host.command(), "--json"});
  EXPECT_EQ(json_of(audited)["audit"]["implementation"], "I1") << audited.err;
  EXPECT_TRUE(host.clean());
  Outcome const second =
      in_search({"audit", "I2", "--runner",
                 host.script("copy", "\"$TIK\" evaluate --bundle \"$1\" --out here && cp here/* \"$2\"") + " {bundle} {out}"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.out, HasSubstr("U3 of I2: not verified"));
}

TEST_F(HostsApart, CommandReachesTheHostForSeveralAuditsAtOnce) {
  StandInHost const host;
  expect_bad_input(in_search({"audit", "I3", "I2"}), {"--runner"});
  Outcome const several = in_search({"audit", "I3", "I2", "--runner", host.command()});
  EXPECT_EQ(several.exit_code, 0) << several.err;
  EXPECT_THAT(several.out, testing::AllOf(HasSubstr("U2 of I2: not verified"), HasSubstr("U3 of I3: ")));
  EXPECT_EQ(tik({"verify", search()}).exit_code, 0);
}

TEST_F(HostsApart, CommandReachesTheHostForARootAndForARun) {
  StandInHost const host;
  spill(folder_ / "spec.toml", small_specification());
  std::string const place = folder_ / "remote";
  Outcome const made = tik({"new", place, "--spec", folder_ / "spec.toml", "--root", cpu_root(), "--runner", host.command()});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  Outcome const run = tik({"run", place, "--steps", "1", "--runner", host.command()});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("step 1: I1 ("));
  EXPECT_EQ(tik({"verify", place}).exit_code, 0);
}

TEST_F(HostsApart, BrokenConnectionCostsARetryAndNoAudit) {
  StandInHost const host;
  std::string const flaky =
      host.script("flaky", "if mkdir once; then echo 'Connection closed' >&2; exit 255; fi; exec \"$TIK\" \"$@\"");
  Outcome const second_try = in_search({"audit", "--runner", flaky});
  EXPECT_EQ(second_try.exit_code, 0) << second_try.err;
  EXPECT_THAT(second_try.err, HasSubstr("try 1 of 3 on the host failed: the command exited with code 255: Connection closed"));
  EXPECT_EQ(audits(), 1);

  std::string const records = records_of(search());
  std::string const cut = host.script("cut", "\"$TIK\" \"$@\" | head -c 1000");
  for (auto const& [command, sentence] :
       std::map<std::string, std::string>{{host.script("down", "echo 'No route to host' >&2; exit 255"), "No route to host"},
                                          {host.script("hung", "sleep 1000"), "did not finish within its limit of 2 s"},
                                          {cut, "what the host sent"},
                                          {"/no/such/command", "/no/such/command"}}) {
    Outcome const failed =
        in_search({"audit", "--runner", command, "--runner-tries", "1", "--runner-seconds", command == cut ? "100" : "2"});
    EXPECT_EQ(failed.exit_code, 3) << failed.err;
    EXPECT_THAT(failed.err, testing::AllOf(HasSubstr("The host gave no reports in 1 try"), HasSubstr(sentence)));
    EXPECT_LT(failed.seconds, 60);
  }
  EXPECT_EQ(records_of(search()), records);
}

TEST_F(HostsApart, HostThatRefusesTheBundleIsNotAskedAgain) {
  StandInHost const host;
  std::string const refusing =
      host.script("refusing", "echo x >> asked; echo 'tik: standard input: evaluator version 0' >&2; exit 2");
  std::string const records = records_of(search());
  expect_bad_input(in_search({"audit", "--runner", refusing}), {"refused the bundle", "evaluator version 0"});
  EXPECT_EQ(slurp(host / "asked"), "x\n");
  expect_bad_input(in_search({"audit", "--runner", "copy {bundle}"}), {"{out}"});
  expect_bad_input(in_search({"audit", "--runner", " "}), {"no command"});
  EXPECT_EQ(records_of(search()), records);
}

TEST_F(HostsApart, HostThatAnswersAboutAnotherSourceIsNotBelieved) {
  StandInHost const host;
  // Its answer names other sources than were sent.
  std::string const liar = host.script(
      "liar", "\"$TIK\" evaluate --bundle - --out out --json > answer; sed 's/\"source_sha256\": *\"......../&x/' answer");
  std::string const records = records_of(search());
  Outcome const failed = in_search({"audit", "--runner", liar, "--runner-tries", "1"});
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_THAT(failed.err, HasSubstr("is about the source"));
  EXPECT_EQ(records_of(search()), records);
}

TEST_F(HostsApart, AuditOnAHostEndsWithinASecondOfCtrlC) {
  StandInHost const host;
  Program program({"audit", "-C", search(), "--runner", host.script("slow", "touch begun; sleep 1000")});
  for (int i = 0; i < 2000 && !std::filesystem::exists(host / "begun"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  program.signal(SIGINT);
  Outcome const interrupted = program.finish(60);
  EXPECT_EQ(interrupted.exit_code, 130) << interrupted.err;
  EXPECT_LT(interrupted.seconds, 3.0);
  EXPECT_EQ(audits(), 0);
}

} // namespace
} // namespace tik::cli::test
