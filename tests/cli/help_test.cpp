// Help, version, completion, and mistakes on the command line itself.
#include <gmock/gmock.h>

#include "tests/cli/program.h"

namespace tik::cli::test {
namespace {

using testing::HasSubstr;

std::vector<std::vector<std::string>> all_commands() {
  return {{"new"},
          {"run"},
          {"status"},
          {"log"},
          {"show"},
          {"diff"},
          {"best"},
          {"report"},
          {"evaluate"},
          {"audit"},
          {"decide"},
          {"mcp"},
          {"check"},
          {"verify"},
          {"doctor"},
          {"export"},
          {"import"},
          {"act"},
          {"act", "begin"},
          {"act", "submit"},
          {"completion"},
          {"opportunity"},
          {"opportunity", "list"},
          {"opportunity", "add"},
          {"opportunity", "withdraw"}};
}

TEST(Help, NamesEveryCommand) {
  Outcome const outcome = tik({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (auto const& command : all_commands()) EXPECT_THAT(outcome.out, HasSubstr("\n  " + command[0] + " "));
  EXPECT_THAT(outcome.out, HasSubstr("Exit codes"));
}

TEST(Help, OfEveryCommandShowsAnExample) {
  for (auto command : all_commands()) {
    std::string name = "tik";
    for (auto const& word : command) name += ' ' + word;
    command.push_back("--help");
    Outcome const outcome = tik(command);
    EXPECT_EQ(outcome.exit_code, 0) << name;
    EXPECT_THAT(outcome.out, HasSubstr("Examples:\n")) << name;
    EXPECT_THAT(outcome.out, HasSubstr(command[0] == "completion" ? "tik completion" : name + " ")) << name;
    EXPECT_EQ(outcome.err, "") << name;
  }
}

TEST(Help, VersionNamesProgramAndChecks) {
  Outcome const outcome = tik({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::MatchesRegex("tik [0-9]+\\.[0-9]+\\.[0-9]+ \\(checks [0-9]+\\)\n"));
}

TEST(CommandLine, WithoutACommandIsBadInput) { expect_bad_input(tik({}), {"tik --help"}); }

TEST(CommandLine, UnknownCommandIsBadInput) { expect_bad_input(tik({"frobnicate"}), {"frobnicate", "tik --help"}); }

TEST(CommandLine, UnknownOptionIsBadInput) {
  expect_bad_input(tik({"status", "--frobnicate"}), {"--frobnicate", "tik status --help"});
}

TEST(CommandLine, MissingArgumentIsBadInput) {
  expect_bad_input(tik({"new", "x"}), {"--spec"});
  expect_bad_input(tik({"show"}), {"ID"});
  expect_bad_input(tik({"act"}), {"tik act --help"});
}

TEST(CommandLine, ValueOfTheWrongTypeIsBadInput) {
  expect_bad_input(tik({"run", "x", "--steps", "many"}), {"--steps"});
  expect_bad_input(tik({"run", "x", "--steps", "0"}), {"--steps"});
  expect_bad_input(tik({"run", "x", "--seconds", "-3"}), {"--seconds"});
  expect_bad_input(tik({"log", "x", "--limit", "-1"}), {"--limit"});
  expect_bad_input(tik({"completion", "tcsh"}), {"tcsh"});
}

TEST(Repeated, OptionsTakeAsManyValuesAsTheyAreGiven) {
  for (std::vector<std::string> const& words : std::vector<std::vector<std::string>>{
           {"act", "begin", "O1", "--parent", "I1", "--parent", "I2", "--folder", "edit"},
           {"opportunity",   "add",  "--mechanism",   "m",     "--for",      "I1", "--for",      "I2",
            "--evidence",    "U1",   "--evidence",    "U2",    "--workload", "w",  "--workload", "v",
            "--entry-point", "full", "--entry-point", "decode"}}) {
    std::vector<std::string> command = words;
    command.insert(command.end(), {"-C", "/there-is-no-search"});
    EXPECT_THAT(tik(command).err, HasSubstr("no search is there")) << words[1];
  }
}

// The shells themselves say whether the scripts are well formed and what they complete.
TEST(Completion, BashCompletesCommandsAndOptions) {
  TemporaryFolder const folder;
  spill(folder / "tik.bash", tik({"completion", "bash"}).out);
  auto const complete = [&](std::string const& words, int position) {
    std::string const script = "source '" + folder / "tik.bash" + "'; COMP_WORDS=(" + words +
                               "); COMP_CWORD=" + std::to_string(position) + "; _tik; echo \"${COMPREPLY[@]}\" > '" +
                               folder / "out" + "'";
    EXPECT_EQ(std::system(("bash -c '" +
                           [&] {
                             std::string quoted;
                             for (char const letter : script)
                               quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
                             return quoted;
                           }() +
                           "'")
                              .c_str()),
              0);
    return slurp(folder / "out");
  };
  EXPECT_EQ(complete("tik sta", 1), "status\n");
  EXPECT_EQ(complete("tik opportunity wi", 2), "withdraw\n");
  EXPECT_EQ(complete("tik status --js", 2), "--json\n");
  EXPECT_EQ(complete("tik act begin --par", 3), "--parent\n");
}

TEST(Completion, ZshAndFishNameEveryCommand) {
  std::string const zsh = tik({"completion", "zsh"}).out, fish = tik({"completion", "fish"}).out;
  EXPECT_TRUE(zsh.starts_with("#compdef tik\n"));
  for (auto const& command : all_commands()) {
    EXPECT_THAT(zsh, HasSubstr("'" + command.back() + ":")) << command.back();
    EXPECT_THAT(fish, HasSubstr("-a " + command.back() + " ")) << command.back();
  }
}

TEST(Worker, IsNotACommandForPeople) { EXPECT_THAT(tik({"--help"}).out, testing::Not(HasSubstr("evaluator-worker"))); }

} // namespace
} // namespace tik::cli::test
