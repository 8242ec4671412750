#include "src/evaluator/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

std::string any_text() { return valid_utf8(*rc::gen::arbitrary<std::string>()); }

double any_number() {
  return *rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                       [](std::int64_t bits) { return static_cast<double>(bits) / 1024.0; });
}

std::vector<double> any_numbers() {
  std::vector<double> values(*rc::gen::inRange<std::size_t>(0, 5));
  for (double& value : values) value = any_number();
  return values;
}

Report any_report() {
  Report report;
  report.specification_sha256 = any_text();
  report.source_sha256 = any_text();
  report.incumbent_sha256 = any_text();
  report.evaluator_version = any_text();
  report.started_at = any_text();
  report.seconds = any_number();
  report.machine["processor"] = any_text();
  report.protections = {any_text(), any_text()};
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    Stage stage;
    stage.name = any_text();
    stage.outcome = *rc::gen::element(Outcome::passed, Outcome::failed, Outcome::skipped);
    stage.seconds = any_number();
    stage.message = any_text();
    stage.details["cases"] = any_numbers();
    report.stages.push_back(std::move(stage));
  }
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    WorkloadMeasurement workload;
    workload.id = any_text();
    workload.entry_point = *rc::gen::element(spec::EntryPoint::full, spec::EntryPoint::decode);
    workload.latency_us = any_number();
    workload.median_us = any_number();
    workload.spread_us = any_number();
    workload.ratio = any_number();
    workload.ratio_spread = any_number();
    workload.samples_us = any_numbers();
    workload.incumbent_samples_us = any_numbers();
    workload.cache = *rc::gen::element(std::string("cold"), std::string("warm"));
    report.workloads.push_back(std::move(workload));
  }
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    report.evidence.push_back({any_text(), *rc::gen::arbitrary<bool>(), any_text(), any_text(), {{"value", any_number()}}});
  }
  return report;
}

TEST(Report, ReadsBackWhatItWrote) {
  EXPECT_TRUE(rc::check([] {
    Report const report = any_report();
    std::string const text = to_json(report).dump();
    Result<Report> const again = report_from_json(Json::parse(text));
    RC_ASSERT(again.has_value());
    RC_ASSERT(to_json(*again).dump() == text);
  }));
}

// Every object of a report loses each of its keys, gets each mistyped, and gets one more: all are refused.
TEST(Report, RefusesEveryMissingMistypedAndUnknownKey) {
  Report report;
  report.stages.push_back({});
  report.workloads.push_back({});
  report.evidence.push_back({});
  Json const whole = to_json(report);
  auto const refused_at = [&](Json::json_pointer const& place) {
    for (auto const& item : whole.at(place).items()) {
      Json without = whole, mistyped = whole;
      without.at(place).erase(item.key());
      mistyped.at(place)[item.key()] = nullptr;
      EXPECT_FALSE(report_from_json(without).has_value()) << "without " << place.to_string() << "/" << item.key();
      EXPECT_FALSE(report_from_json(mistyped).has_value()) << "null at " << place.to_string() << "/" << item.key();
    }
    Json more = whole;
    more.at(place)["surplus"] = 1;
    EXPECT_FALSE(report_from_json(more).has_value()) << "one more key at " << place.to_string();
  };
  ASSERT_TRUE(report_from_json(whole).has_value());
  for (char const* place : {"", "/stages/0", "/workloads/0", "/evidence/0"}) refused_at(Json::json_pointer(place));
}

TEST(Report, RefusesNumbersThatAreNotFiniteAnywhere) {
  Report report;
  report.stages.push_back({});
  for (double const bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Json json = to_json(report);
    json["seconds"] = bad;
    EXPECT_FALSE(report_from_json(json).has_value());
    json = to_json(report);
    json["stages"][0]["details"]["deep"]["inside"] = {1.0, bad};
    EXPECT_FALSE(report_from_json(json).has_value());
  }
}

TEST(Report, RefusesAnotherSchemaAndWhatIsNoObject) {
  Json json = to_json(Report{});
  json["schema"] = 2;
  Result<Report> const other = report_from_json(json);
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(other.error().message, testing::HasSubstr("schema"));
  for (Json const& nonsense : {Json(), Json(3), Json::array(), Json("report")})
    EXPECT_FALSE(report_from_json(nonsense).has_value());
}

TEST(Report, IsVerifiedOnlyWithEveryCheckPassed) {
  Report report;
  for (char const* name : {"build", "consistency", "accuracy", "robustness"}) {
    EXPECT_FALSE(report.verified());
    Stage stage;
    stage.name = name;
    stage.outcome = Outcome::passed;
    report.stages.push_back(stage);
  }
  EXPECT_TRUE(report.verified());
  for (Stage& stage : report.stages) {
    for (Outcome const outcome : {Outcome::failed, Outcome::skipped}) {
      stage.outcome = outcome;
      EXPECT_FALSE(report.verified()) << stage.name;
    }
    stage.outcome = Outcome::passed;
  }
  Stage measurement;
  measurement.name = "measurement";
  report.stages.push_back(measurement);
  EXPECT_TRUE(report.verified()) << "what was not measured is verified all the same";
  report.stages.back().outcome = Outcome::failed;
  EXPECT_FALSE(report.verified()) << "a timed call with other bits, or a clock that lies";
}

TEST(Report, HasATotalOnlyWithEveryLatency) {
  spec::Specification specification;
  specification.workloads.resize(2);
  specification.workloads[0].id = "a";
  specification.workloads[0].weight = 2;
  specification.workloads[1].id = "b";
  Report report;
  report.workloads.resize(1);
  report.workloads[0].id = "a";
  report.workloads[0].latency_us = 10;
  EXPECT_FALSE(report.measured(specification));
  report.workloads.push_back(report.workloads[0]);
  report.workloads[1].id = "b";
  EXPECT_DOUBLE_EQ(report.total_us(specification).value(), 30);
  report.workloads[1].latency_us = 0;
  EXPECT_FALSE(report.measured(specification));
}

TEST(Text, IsAlwaysValidUtf8AndLeavesValidTextAlone) {
  EXPECT_EQ(valid_utf8("plain \xC3\xA4 \xF0\x9F\x98\x80"), "plain \xC3\xA4 \xF0\x9F\x98\x80");
  EXPECT_EQ(valid_utf8("\xff\xC3"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); // half of a surrogate pair
  EXPECT_TRUE(rc::check([](std::vector<std::uint8_t> const& bytes) {
    std::string const text(bytes.begin(), bytes.end());
    std::string const valid = valid_utf8(text);
    RC_ASSERT(Json(valid).dump().size() > 1); // dump throws on anything else
    RC_ASSERT(valid_utf8(valid) == valid);
  }));
}

} // namespace
} // namespace tik::evaluator
