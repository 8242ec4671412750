#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/agent/builtin_evidence.h"

namespace tik::agent {
namespace {

evaluator::Report report_with(char const* name, char const* data, bool available = true) {
  evaluator::Report report;
  report.evidence.push_back({name, available, "tool", "", evaluator::Json::parse(data)});
  return report;
}

TEST(Evidence, RemarksTellTheShareOfScalarLoopsAndAReason) {
  Symptoms const symptoms = symptoms_of(report_with("compiler", R"({"vectorized": 1, "missed": 3, "loops": [
    {"file": "full.cpp", "line": 12, "vectorized": false, "vector_bytes": 0, "reason": "complicated access pattern"}]})"));
  EXPECT_DOUBLE_EQ(symptoms.at("not-vectorized").strength, 0.75);
  EXPECT_THAT(symptoms.at("not-vectorized").note,
              testing::HasSubstr("3 of 4 loops scalar, full.cpp:12 for: complicated access pattern"));
}

TEST(Evidence, InstructionsTellScalarArithmeticAndCalls) {
  Symptoms const symptoms = symptoms_of(report_with("instructions", R"({"entry_points": [
    {"symbol": "full", "classes": {"scalar_float_add": 30, "packed_float_fma": 10, "loads": 80, "stores": 4}, "external_calls": {"expf": 2}},
    {"symbol": "decode", "classes": {"scalar_float_multiply": 0}, "external_calls": {}}]})"));
  EXPECT_DOUBLE_EQ(symptoms.at("scalar-arithmetic").strength, 0.75);
  EXPECT_DOUBLE_EQ(symptoms.at("many-loads").strength, 1.0);
  EXPECT_DOUBLE_EQ(symptoms.at("many-stores").strength, 0.1);
  EXPECT_THAT(symptoms.at("many-calls").note, testing::HasSubstr("expf"));
}

TEST(Evidence, WhatIsUnavailableOrMalformedIsNoSymptom) {
  EXPECT_TRUE(symptoms_of({}).empty());
  EXPECT_TRUE(symptoms_of(report_with("compiler", R"({"vectorized": 1, "missed": 3})", false)).empty());
  EXPECT_TRUE(symptoms_of(report_with("compiler", R"({"vectorized": "many", "missed": null, "loops": 7})")).empty());
  EXPECT_TRUE(symptoms_of(report_with("instructions", R"({"entry_points": [{"classes": {"loads": "x"}}, 5]})")).empty());
}

} // namespace
} // namespace tik::agent
