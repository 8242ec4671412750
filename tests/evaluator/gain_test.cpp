// The rule against gains that are noise.
#include "src/evaluator/gain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tik::evaluator {
namespace {

spec::Measurement settings(double noise, int repeats) {
  spec::Measurement measurement;
  measurement.noise = noise;
  measurement.repeats = repeats;
  return measurement;
}

TEST(Gain, OnlyAGainWithinTheNoiseIsMeasuredAgain) {
  auto const rule = settings(0.01, 4);
  EXPECT_TRUE(measured_again({{0.995, 0.001}}, rule));
  EXPECT_TRUE(measured_again({{0.95, 0.06}}, rule)) << "its own interval holds 1";
  EXPECT_FALSE(measured_again({{0.95, 0.01}}, rule)) << "it is a gain";
  EXPECT_FALSE(measured_again({{1.0, 0.01}}, rule)) << "it is none";
  EXPECT_FALSE(measured_again({{1.05, 0.06}}, rule));
  EXPECT_TRUE(measured_again({{0.995, 0.001}, {0.95, 0.01}}, rule)) << "a lucky repeat does not make it one";
  EXPECT_FALSE(measured_again({{0.995, 0.001}, {1.001, 0.01}}, rule)) << "a repeat has shown that it is none";
}

TEST(Gain, ItIsMeasuredAgainAtMostAsOftenAsTheSpecificationSays) {
  std::vector<Comparison> measured;
  for (measured.push_back({0.999, 0.01}); measured_again(measured, settings(0.01, 3)); measured.push_back({0.999, 0.01})) {
  }
  EXPECT_EQ(measured.size(), 4U);
  EXPECT_FALSE(measured_again({{0.999, 0.01}}, settings(0.01, 0)));
}

TEST(Gain, TheSmallestGainCounts) {
  EXPECT_EQ(counted_measurement({{0.98, 0.1}}), 0U);
  EXPECT_EQ(counted_measurement({{0.98, 0.1}, {0.99, 0.1}, {0.97, 0.01}}), 1U);
  EXPECT_EQ(counted_measurement({{0.98, 0.1}, {1.01, 0.1}}), 1U);
}

struct Rates {
  double promoted = 0, beyond_threshold = 0; // fractions: of the candidates; of single measurements
};

// Candidates whose true ratio is `ratio`, each measured with normal noise until the rule is content.
Rates promote(double ratio, double sigma, spec::Measurement const& rule) {
  constexpr int candidates = 20000;
  std::mt19937_64 random(20261129);
  std::normal_distribution<double> noise(0, sigma);
  int promoted = 0, beyond = 0, measurements = 0;
  for (int i = 0; i < candidates; ++i) {
    std::vector<Comparison> measured;
    do {
      measured.push_back({ratio + noise(random), 0});
      measurements += 1;
      beyond += 1 - measured.back().total_ratio > rule.noise ? 1 : 0;
    } while (measured_again(measured, rule));
    promoted += measured[counted_measurement(measured)].total_ratio < 1 ? 1 : 0;
  }
  return {static_cast<double>(promoted) / candidates, static_cast<double>(beyond) / measurements};
}

// What gain.h promises.
TEST(Gain, NoiseAloneIsNotPromotedMoreOftenThanTheBound) {
  for (int const repeats : {0, 1, 2, 4, 8}) {
    for (double const sigma : {0.0005, 0.002, 0.004, 0.006, 0.01}) {
      Rates const rates = promote(1, sigma, settings(0.01, repeats));
      double const bound = std::pow(0.5, 1 + repeats) + rates.beyond_threshold;
      EXPECT_LE(rates.promoted, bound + 0.01) << repeats << " repeats, noise of " << sigma;
    }
  }
}

TEST(Gain, WithoutTheRuleHalfOfAllThatChangeNothingWouldBePromoted) {
  EXPECT_NEAR(promote(1, 0.004, settings(0, 0)).promoted, 0.5, 0.02);
  EXPECT_LT(promote(1, 0.004, settings(0.01, 4)).promoted, 0.05);
}

TEST(Gain, AGainBeyondTheNoiseIsPromoted) { EXPECT_GT(promote(0.97, 0.004, settings(0.01, 4)).promoted, 0.999); }

} // namespace
} // namespace tik::evaluator
