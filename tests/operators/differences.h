// Gradients checked against central differences in float64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tik::operators {

inline std::vector<double> random_numbers(int count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> numbers(count);
  for (double& number : numbers) number = normal(engine);
  return numbers;
}

inline double dot(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Moves every number of `at` a little and compares what loss() does with `gradient`.
template <typename Loss>
void expect_gradient(std::vector<double>& at, std::vector<double> const& gradient, Loss loss) {
  ASSERT_EQ(at.size(), gradient.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    double const here = at[i];
    double const step = 1e-5;
    at[i] = here + step;
    double const above = loss();
    at[i] = here - step;
    double const below = loss();
    at[i] = here;
    double const difference = (above - below) / (2 * step);
    EXPECT_NEAR(gradient[i], difference, 1e-8 * (1 + std::abs(difference))) << "number " << i;
  }
}

} // namespace tik::operators
