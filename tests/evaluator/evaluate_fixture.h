// What tests of whole evaluations share: a small specification, a scratch folder, and that nothing is left behind.
#pragma once

#include <gmock/gmock.h>

#include <optional>

#include "src/evaluator/evaluator.h"
#include "tests/evaluator/candidates.h"
#include "tests/evaluator/leftovers.h"

namespace tik::evaluator {

class Evaluate : public testing::Test {
 protected:
  void SetUp() override {
    descriptors_ = open_descriptors();
    folder_.emplace(ScratchFolder::temporary("evaluate-test").value());
    specification_ = spec::parse_specification(small_specification(20, 60), "small.toml").value();
  }
  void TearDown() override {
    EXPECT_THAT(left_processes(), testing::IsEmpty());
    EXPECT_TRUE(std::filesystem::is_empty(scratch())) << "something was left in the scratch folder";
    folder_.reset();
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

  std::filesystem::path scratch() const {
    std::filesystem::create_directories(folder_->path() / "scratch");
    return folder_->path() / "scratch";
  }

  Request request(std::filesystem::path const& source) const {
    return {.specification = specification_,
            .seal = spec::seal(specification_),
            .source = source,
            .incumbent = std::nullopt,
            .incumbent_latency_us = {},
            .scratch = scratch(),
            .build_cache = {},
            .progress = {},
            .cancel = nullptr};
  }

  Report evaluate_hostile(Hostility const& hostility) {
    write_candidate(folder_->path() / "candidate", hostility);
    Result<Report> report = evaluate(request(folder_->path() / "candidate"));
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report ? std::move(*report) : Report{};
  }

  // Fails in `stage` with a message that holds `words`.
  void expect_failure(Hostility const& hostility, std::string const& stage, std::string const& words) {
    Report const report = evaluate_hostile(hostility);
    EXPECT_FALSE(report.verified() && report.measured(specification_));
    bool reached = false;
    for (Stage const& each : report.stages) {
      if (each.name == stage) {
        EXPECT_EQ(each.outcome, Outcome::failed) << each.name << ": " << each.message;
        EXPECT_THAT(each.message, testing::HasSubstr(words));
        reached = true;
      } else {
        EXPECT_EQ(each.outcome, reached ? Outcome::skipped : Outcome::passed) << each.name << ": " << each.message;
      }
    }
    EXPECT_TRUE(reached);
  }

  std::optional<ScratchFolder> folder_;
  spec::Specification specification_;
  std::size_t descriptors_ = 0;
};

} // namespace tik::evaluator
