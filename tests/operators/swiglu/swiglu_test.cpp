// The exponential of SwiGLU against the C library's, and the float64 gradients against central differences.
#include <gtest/gtest.h>

#include <cmath>

#include "operators/swiglu/arithmetic.h"
#include "operators/swiglu/reference.h"
#include "tests/operators/differences.h"

namespace tik::operators::swiglu {
namespace {

TEST(Exponential, IsWithinTwoUnitsOfTheLastPlace) {
  double worst = 0;
  for (int i = -870000; i <= 870000; ++i) {
    float const x = static_cast<float>(i) * 1e-4f;
    double const exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(exponential(x) - exact) / exact);
  }
  EXPECT_LT(worst, 1.3e-7);
  EXPECT_GT(worst, 0);
}

TEST(Sigmoid, IsExactAtItsEnds) {
  EXPECT_EQ(sigmoid(0.0f), 0.5f);
  EXPECT_EQ(sigmoid(100.0f), 1.0f);
  EXPECT_EQ(sigmoid(INFINITY), 1.0f);
  EXPECT_EQ(sigmoid(-100.0f), 0.0f);
  EXPECT_TRUE(std::isnan(sigmoid(NAN)));
}

TEST(Sigmoid, IsCloseToFloat64) {
  for (int i = -8700; i <= 8700; ++i) {
    float const gate = static_cast<float>(i) * 0.01f;
    double const exact = 1 / (1 + std::exp(-static_cast<double>(gate)));
    EXPECT_NEAR(sigmoid(gate) / exact, 1, 3e-7) << gate;
  }
}

TEST(SwigluReference, GradientsAreThoseOfCentralDifferences) {
  std::vector<double> at = random_numbers(40, 1);
  std::vector<double> const weights = random_numbers(20, 2);
  auto const loss = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < 20; ++i) sum += weights[i] * reference(3 * at[i], at[20 + i]);
    return sum;
  };
  std::vector<double> gradient(40);
  for (std::size_t i = 0; i < 20; ++i) {
    ReferenceGradients const gradients = reference_gradients(3 * at[i], at[20 + i], weights[i]);
    gradient[i] = 3 * gradients.gate;
    gradient[20 + i] = gradients.up;
  }
  expect_gradient(at, gradient, loss);
}

} // namespace
} // namespace tik::operators::swiglu
