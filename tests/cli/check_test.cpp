// `tik check`: what it finds, what it says where there is no GPU, and what it refuses.
#include <gmock/gmock.h>

#include <set>

#include "tests/cli/program.h"

namespace tik::cli::test {
namespace {

using testing::Gt;
using testing::HasSubstr;

std::string library(std::string const& name) { return TIK_LIBRARY_FOLDER "/libtik_" + name + ".so"; }

std::vector<std::string> small_model() {
  return {"--hidden",   "256", "--heads",        "4",   "--kv-heads",   "2",
          "--head-dim", "64",  "--intermediate", "512", "--vocabulary", "4096"};
}

Outcome check(std::vector<std::string> const& options, std::map<std::string, std::string> environment = {}) {
  std::vector<std::string> command = {"check"};
  command.insert(command.end(), options.begin(), options.end());
  return tik(command, std::move(environment));
}

Outcome check_small(std::vector<std::string> options, std::map<std::string, std::string> environment = {}) {
  for (std::string const& word : small_model()) options.push_back(word);
  return check(options, std::move(environment));
}

TEST(Check, TheCpuBackendIsConsistentInEveryOperator) {
  nlohmann::ordered_json const json = json_of(check_small({"--cpu", "--quick", "--qk-norm", "--json"}));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["consistent"], true);
  EXPECT_EQ(json["backend"], "cpu");
  EXPECT_EQ(json["model"]["qk_norm"], true);
  EXPECT_EQ(json["failed"], 0);
  std::set<std::string> operators;
  int cases = 0;
  for (auto const& line : json["lines"]) {
    operators.insert(line["operator"]);
    cases += line["cases"].get<int>();
    EXPECT_THAT(line["cases"], Gt(0)) << line;
    EXPECT_EQ(line["failed"], 0) << line;
  }
  EXPECT_EQ(json["cases"], cases);
  for (char const* const name : {"rms_norm", "rotary", "qk_norm_rope_kv_write", "swiglu", "embedding", "linear",
                                 "language_model_head", "language_model_head_backward", "attention"})
    EXPECT_TRUE(operators.contains(name)) << name;
}

TEST(Check, AModelIsKnownByItsName) {
  nlohmann::ordered_json const json =
      json_of(check({"--cpu", "--quick", "--json", "--model", "qwen3-8b", "--operator", "rms_norm", "--operator", "kv_write"}));
  EXPECT_EQ(json["model"]["hidden"], 4096);
  std::set<std::string> operators;
  for (auto const& line : json["lines"]) operators.insert(line["operator"]);
  EXPECT_EQ(operators, (std::set<std::string>{"rms_norm", "kv_write"}));
}

TEST(Check, WithoutAGpuItSaysThatTheKernelsAreNotChecked) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has a GPU";
  Outcome const outcome = check_small({"--quick", "--operator", "swiglu"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("The GPU kernels are not checked. "));
  EXPECT_THAT(outcome.out, HasSubstr("swiglu"));
  EXPECT_THAT(outcome.out, HasSubstr("consistent: all of "));
  EXPECT_EQ(outcome.err, "");

  Outcome const demanded = check_small({"--quick", "--gpu"});
  EXPECT_EQ(demanded.exit_code, 3);
  EXPECT_THAT(demanded.err, testing::AnyOf(HasSubstr("The NVIDIA driver is not there"), HasSubstr("No GPU can be used")));
}

TEST(Check, ALibraryIsCheckedInPlaceOfTheBuiltInBackend) {
  nlohmann::ordered_json const json =
      json_of(check_small({"--library", library("operators_cpu"), "--quick", "--operator", "attention", "--json"}));
  EXPECT_EQ(json["library"], library("operators_cpu"));
  EXPECT_EQ(json["consistent"], true);
}

// The library double with no fault passes, so that what is found below is the fault.
TEST(Check, TheUnchangedDoubleIsConsistent) {
  EXPECT_EQ(check_small({"--library", library("changed_operators"), "--quick"}).exit_code, 0);
}

TEST(Check, OneChangedBitIsFoundAndItsOperatorNamed) {
  for (std::string const changed : {"swiglu", "linear", "language_model_head", "attention"}) {
    Outcome const outcome =
        check_small({"--library", library("changed_operators"), "--quick", "--json"}, {{"TIK_CHANGED", changed}});
    EXPECT_EQ(outcome.exit_code, 1) << changed << outcome.err;
    auto const json = nlohmann::ordered_json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << outcome.out;
    EXPECT_EQ(json["consistent"], false);
    EXPECT_THAT(json["failed"], Gt(0)) << changed;
    bool named = false;
    for (auto const& line : json["lines"]) {
      if (line["operator"] == changed) {
        named = true;
        EXPECT_THAT(line["failed"], Gt(0)) << line;
        EXPECT_NE(line.value("first_failure", ""), "") << line;
      } else if (changed != "linear" || line["operator"] != "language_model_head") { // the head is checked against linear, too
        EXPECT_EQ(line["failed"], 0) << line;
      }
    }
    EXPECT_TRUE(named) << changed;
  }
}

TEST(Check, AFailureIsShownToAPerson) {
  Outcome const outcome =
      check_small({"--library", library("changed_operators"), "--quick", "--operator", "swiglu"}, {{"TIK_CHANGED", "swiglu"}});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAILED swiglu 512: "));
  EXPECT_THAT(outcome.out, HasSubstr("not consistent: "));
}

TEST(Check, BadInputIsRefusedWithASentence) {
  expect_bad_input(check({"--model", "qwen9"}), {"qwen9", "qwen3-8b", "--hidden"});
  expect_bad_input(check({"--operator", "convolution"}), {"convolution", "swiglu"});
  expect_bad_input(check({"--hidden", "256"}), {"--hidden", "--heads"});
  expect_bad_input(check({"--cpu", "--gpu"}), {"--cpu", "--gpu"});
  expect_bad_input(check({"--quick", "--thorough"}), {"--quick", "--thorough"});
  expect_bad_input(check({"--model", "qwen3-8b", "--hidden", "256"}), {"--model", "--hidden"});
  expect_bad_input(check({"--library", "/there/is/none.so"}), {"/there/is/none.so"});
  expect_bad_input(check({"--library", library("operators_cpu"), "--gpu"}), {"--gpu", "host memory"});
  std::vector<std::string> shape = small_model();
  shape[7] = "96";
  expect_bad_input(check(shape), {"head_dim is 96", "64 or 128"});
  shape = small_model();
  shape[1] = "250";
  expect_bad_input(check(shape), {"hidden is 250", "multiple of 16"});
  shape = small_model();
  shape[3] = "3";
  expect_bad_input(check(shape), {"query_heads is 3"});
}

TEST(Check, AFileThatIsNoLibraryOfOperatorsIsRefused) {
  TemporaryFolder const folder;
  spill(folder / "text.so", "not a library");
  expect_bad_input(check({"--library", folder / "text.so"}), {"text.so", "cannot be loaded"});
}

TEST(Check, StopsOnCtrlC) {
  Program program({"check", "--cpu", "--thorough"});
  std::this_thread::sleep_for(std::chrono::seconds(1));
  program.signal(SIGINT);
  Outcome const outcome = program.finish(60);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("The check was stopped"));
}

} // namespace
} // namespace tik::cli::test
