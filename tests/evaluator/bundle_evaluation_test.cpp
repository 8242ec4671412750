// The candidates of a bundle, evaluated without a search.
#include "src/evaluator/bundle_evaluation.h"

#include <gmock/gmock.h>

#include "src/base/scratch_folder.h"
#include "tests/evaluator/candidates.h"
#include "tests/evaluator/worker_main.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class EvaluateBundle : public testing::Test {
 protected:
  void SetUp() override {
    bundle_.specification = spec::parse_specification(small_specification(20, 60), "small.toml").value();
    bundle_.seal = spec::seal(bundle_.specification);
    add("I1", {});
    add("I2", {.version = "2"});
    add("I3", {.before = "__builtin_trap();"});
    fs::create_directories(folder_.path() / "scratch");
  }

  void add(std::string const& id, Hostility const& hostility) {
    write_candidate(folder_.path() / id, hostility);
    std::vector<SourceFile> files = read_source_folder(folder_.path() / id).value();
    std::string hash = hash_source_files(files);
    bundle_.candidates.push_back({id, std::move(hash), std::move(files)});
  }

  Result<std::vector<HostReport>> evaluate(std::vector<int> gpus = {}) {
    done_.clear();
    BundleEvaluation evaluation{bundle_, folder_.path() / "out", folder_.path() / "scratch", {}, {}, {},
                                nullptr, std::move(gpus)};
    evaluation.done = [&](HostReport const& entry, bool kept) { done_.emplace_back(entry.id, kept); };
    return evaluate_bundle(evaluation);
  }

  ScratchFolder folder_ = ScratchFolder::temporary("bundle-evaluation-test").value();
  Bundle bundle_;
  std::vector<std::pair<std::string, bool>> done_;
};

TEST_F(EvaluateBundle, EveryCandidateHasAReportInOrderAndKeepsItTheSecondTime) {
  Result<std::vector<HostReport>> const reports = evaluate();
  ASSERT_TRUE(reports.has_value()) << reports.error().message;
  EXPECT_THAT(done_, ElementsAre(Pair("I1", false), Pair("I2", false), Pair("I3", false)));
  ASSERT_EQ(reports->size(), 3U);
  EXPECT_TRUE((*reports)[0].report.verified());
  EXPECT_FALSE((*reports)[1].report.verified());
  EXPECT_FALSE((*reports)[2].report.verified());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ((*reports)[i].id, bundle_.candidates[i].id);
  ASSERT_TRUE(evaluate().has_value());
  EXPECT_THAT(done_, ElementsAre(Pair("I1", true), Pair("I2", true), Pair("I3", true)));
  EXPECT_EQ(read_reports(folder_.path() / "out").value().size(), 3U);
}

TEST_F(EvaluateBundle, OnTheCpuNoDeviceIsNamed) {
  auto const refused = evaluate({0, 1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::input);
  EXPECT_THAT(refused.error().message, HasSubstr("target is cpu"));
}

TEST_F(EvaluateBundle, ADeviceIsNamedOnce) {
  bundle_.specification.target = "sm_90a";
  auto const refused = evaluate({1, 1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("twice"));
}

} // namespace
} // namespace tik::evaluator
