// The evaluator against real candidates, each compiled here: what a correct one goes through.
#include <chrono>
#include <thread>

#include "src/evaluator/process.h"
#include "tests/evaluator/evaluate_fixture.h"
#include "tests/evaluator/worker_main.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(Evaluate, ACorrectCandidatePassesEveryStageAndItsReportReadsBack) {
  Report const report = evaluate_hostile({});
  for (Stage const& stage : report.stages) EXPECT_EQ(stage.outcome, Outcome::passed) << stage.name << ": " << stage.message;
  EXPECT_TRUE(report.verified());
  EXPECT_TRUE(report.measured(specification_));
  EXPECT_EQ(report.evidence.size(), 4U);
  EXPECT_EQ(report.source_sha256, hash_source_tree(folder_->path() / "candidate").value());
  Result<Report> const again = report_from_json(Json::parse(to_json(report).dump()));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(to_json(*again), to_json(report));
}

TEST_F(Evaluate, TheRootOfTheDemoIsVerifiedAndMeasuredBesideAnIncumbent) {
  fs::path const root = fs::path(TIK_SOURCE_DIR) / "operators/attention/cpu";
  write_candidate(folder_->path() / "incumbent", {});
  Request asked = request(root);
  asked.incumbent = folder_->path() / "incumbent";
  asked.incumbent_latency_us = {{"full-64", 500}, {"decode-100x2", 300}};
  Result<Report> const report = evaluate(asked);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  for (Stage const& stage : report->stages) EXPECT_EQ(stage.outcome, Outcome::passed) << stage.name << ": " << stage.message;
  ASSERT_EQ(report->workloads.size(), 2U);
  for (WorkloadMeasurement const& workload : report->workloads) {
    EXPECT_EQ(workload.samples_us.size(), workload.incumbent_samples_us.size());
    EXPECT_GT(workload.ratio, 0);
    EXPECT_DOUBLE_EQ(workload.latency_us, asked.incumbent_latency_us.at(workload.id) * workload.ratio);
  }
  for (Evidence const& evidence : report->evidence)
    EXPECT_TRUE(evidence.available || !evidence.reason.empty()) << evidence.name;
}

TEST_F(Evaluate, AnImplementationBesideItselfIsCheckedOnceAndMeasuredEveryTime) {
  write_candidate(folder_->path() / "candidate", {});
  std::vector<Report> seen;
  Result<std::vector<Report>> const reports =
      evaluate_beside_itself(request(folder_->path() / "candidate"), 2, [&](Report const& report) { seen.push_back(report); });
  ASSERT_TRUE(reports.has_value()) << reports.error().message;
  ASSERT_EQ(reports->size(), 3U);
  ASSERT_EQ(seen.size(), 3U);
  Report const& alone = reports->front();
  EXPECT_TRUE(alone.incumbent_sha256.empty());
  for (Report const& beside : {(*reports)[1], (*reports)[2]}) {
    EXPECT_TRUE(beside.verified());
    EXPECT_EQ(beside.incumbent_sha256, alone.source_sha256);
    ASSERT_EQ(beside.workloads.size(), alone.workloads.size());
    for (std::size_t w = 0; w < alone.workloads.size(); ++w) {
      WorkloadMeasurement const& workload = beside.workloads[w];
      EXPECT_DOUBLE_EQ(workload.latency_us, alone.workloads[w].latency_us * workload.ratio);
      EXPECT_EQ(workload.samples_us.size(), workload.incumbent_samples_us.size());
    }
    EXPECT_EQ(beside.find_stage("consistency")->seconds, alone.find_stage("consistency")->seconds) << "done once";
    EXPECT_NE(beside.find_stage("measurement")->details.at("seed"), alone.find_stage("measurement")->details.at("seed"));
  }
}

TEST_F(Evaluate, AnImplementationThatFailsIsNotMeasuredBesideItself) {
  write_candidate(folder_->path() / "candidate", {.version = "2"});
  auto const reports = evaluate_beside_itself(request(folder_->path() / "candidate"), 2, {});
  ASSERT_TRUE(reports.has_value()) << reports.error().message;
  ASSERT_EQ(reports->size(), 1U);
  EXPECT_FALSE(reports->front().verified());
}

TEST_F(Evaluate, ABuiltLibraryIsTakenFromTheCacheAndADamagedOneIsBuiltAgain) {
  write_candidate(folder_->path() / "candidate", {.version = "2"}); // ends early, after the build
  Request asked = request(folder_->path() / "candidate");
  asked.build_cache = folder_->path() / "cache";
  auto const cached = [&] { return evaluate(asked).value().find_stage("build")->details.at("cached").get<bool>(); };
  EXPECT_FALSE(cached());
  EXPECT_TRUE(cached());
  for (auto const& entry : fs::recursive_directory_iterator(asked.build_cache)) {
    if (entry.path().filename() == "library.so")
      write_or_throw(entry.path(),
                     "\x7f"
                     "ELF, but another");
  }
  EXPECT_FALSE(cached());
  EXPECT_TRUE(cached());
}

// Running.

TEST_F(Evaluate, ACancelledEvaluationEndsWithinASecondAndLeavesNothing) {
  write_candidate(folder_->path() / "candidate", {.before = "for (;;) asm volatile(\"\");"});
  std::atomic<bool> cancel = false;
  Request asked = request(folder_->path() / "candidate");
  Clock::time_point cancelled;
  asked.cancel = &cancel;
  std::thread canceller;
  asked.progress = [&](std::string_view stage, double) {
    if (stage != "consistency" || canceller.joinable()) return;
    canceller = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      cancelled = Clock::now();
      cancel = true;
    });
  };
  Result<Report> const report = evaluate(asked);
  auto const end = Clock::now();
  ASSERT_TRUE(canceller.joinable());
  canceller.join();
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, ErrorKind::cancelled);
  EXPECT_LT(std::chrono::duration<double>(end - cancelled).count(), 1);
}

TEST_F(Evaluate, AGainWithinTheNoiseIsMeasuredAgainInFreshProcessesAndTheSmallestCounts) {
  write_candidate(folder_->path() / "candidate", {});
  write_candidate(folder_->path() / "incumbent", {.before = "for (volatile int i = 0; i < 60000; i = i + 1) {}"});
  specification_.measurement.noise = 0.5; // far more than the candidate gains
  specification_.measurement.repeats = 2;
  Request asked = request(folder_->path() / "candidate");
  asked.incumbent = folder_->path() / "incumbent";
  asked.incumbent_latency_us = {{"full-64", 1}, {"decode-100x2", 1}};
  Result<Report> const report = evaluate(asked);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  Stage const* const stage = report->find_stage("measurement");
  EXPECT_THAT(stage->message, HasSubstr("the smallest gain of 3 measurements counts"));
  Json const& all = stage->details.at("measurements");
  ASSERT_EQ(all.size(), 3U);
  std::set<std::uint64_t> seeds;
  double smallest_gain = 1;
  for (Json const& each : all) {
    double const ratio = each.at("total_ratio");
    EXPECT_LT(ratio, 1);
    smallest_gain = std::min(smallest_gain, 1 - ratio);
    seeds.insert(each.at("seed").get<std::uint64_t>());
    bool const counts = &each == &all.at(stage->details.at("counted_measurement").get<std::size_t>());
    for (Json const& workload : each.at("workloads"))
      EXPECT_EQ(workload.contains("samples_us"), !counts) << "the report holds those of the measurement that counts";
  }
  EXPECT_EQ(seeds.size(), 3U);
  EXPECT_NEAR(*report->total_us(specification_) / 2, 1 - smallest_gain, 1e-9);
}

TEST_F(Evaluate, AGainBeyondTheNoiseIsMeasuredOnce) {
  write_candidate(folder_->path() / "candidate", {});
  write_candidate(folder_->path() / "incumbent", {.before = "for (volatile int i = 0; i < 1000000; i = i + 1) {}"});
  Request asked = request(folder_->path() / "candidate");
  asked.incumbent = folder_->path() / "incumbent";
  asked.incumbent_latency_us = {{"full-64", 1}, {"decode-100x2", 1}};
  Result<Report> const report = evaluate(asked);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  Stage const& measurement = *report->find_stage("measurement");
  ASSERT_EQ(measurement.outcome, Outcome::passed) << measurement.message;
  EXPECT_EQ(measurement.details.at("measurements").size(), 1U);
}

TEST_F(Evaluate, AnIncumbentWithoutARecordedLatencyIsAnInputError) {
  write_candidate(folder_->path() / "candidate", {});
  Request asked = request(folder_->path() / "candidate");
  asked.incumbent = asked.source;
  Result<Report> const report = evaluate(asked);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, ErrorKind::input);
  EXPECT_THAT(report.error().message, HasSubstr("full-64"));
}

} // namespace
} // namespace tik::evaluator
