// The float64 gradients against central differences of the float64 function, and the logarithm of the canonical arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "operators/language_model_head/reference.h"
#include "operators/logarithm.h"
#include "tests/operators/differences.h"

namespace tik::operators::language_model_head {
namespace {

TEST(HeadReference, GradientsAreThoseOfCentralDifferences) {
  linear::Sizes const sizes{4, 5, 9};
  double const temperature = 0.7;
  std::vector<int> const targets{3, 0, -1, 8};
  std::vector<double> x = random_numbers(sizes.tokens * sizes.in_features, 1);
  std::vector<double> weight = random_numbers(sizes.out_features * sizes.in_features, 2);
  std::vector<double> const probability_gradient = random_numbers(sizes.tokens, 3);
  std::vector<double> const entropy_gradient = random_numbers(sizes.tokens, 4);
  auto const loss = [&] {
    double sum = 0;
    auto const rows = reference(sizes, x, weight, targets, temperature);
    for (int t = 0; t < sizes.tokens; ++t)
      sum += probability_gradient[t] * rows[t].log_probability + entropy_gradient[t] * rows[t].entropy;
    return sum;
  };
  auto const gradients = reference_gradients(sizes, x, weight, targets, temperature, probability_gradient, entropy_gradient);
  expect_gradient(x, gradients.x, loss);
  expect_gradient(weight, gradients.weight, loss);
}

TEST(NaturalLogarithm, IsWithinAUnitInTheLastPlace) {
  for (int exponent = -100; exponent <= 100; exponent += 10) {
    for (int i = 0; i < 1000; ++i) {
      float const x = std::ldexp(1.0f + static_cast<float>(i) / 1000, exponent);
      double const exact = std::log(static_cast<double>(x));
      float const above = std::nextafter(std::abs(static_cast<float>(exact)), HUGE_VALF);
      EXPECT_LE(std::abs(natural_logarithm(x) - exact), above - std::abs(static_cast<float>(exact))) << x;
    }
  }
  EXPECT_EQ(natural_logarithm(1.0f), 0.0f);
}

} // namespace
} // namespace tik::operators::language_model_head
