// The float64 gradients against central differences of the float64 function.
#include <gtest/gtest.h>

#include "operators/rms_norm/reference.h"
#include "tests/operators/differences.h"

namespace tik::operators::rms_norm {
namespace {

constexpr double epsilon = 1e-6;

TEST(RmsNormReference, GradientsAreThoseOfCentralDifferences) {
  for (int const columns : {8, 64, 130}) {
    std::vector<double> x = random_numbers(columns, 1), weight = random_numbers(columns, 2);
    std::vector<double> const out_gradient = random_numbers(columns, 3);
    auto const loss = [&] { return dot(out_gradient, reference(x, weight, epsilon)); };
    ReferenceGradients const gradients = reference_gradients(x, weight, epsilon, out_gradient);
    expect_gradient(x, gradients.x, loss);
    expect_gradient(weight, gradients.weight, loss);
  }
}

} // namespace
} // namespace tik::operators::rms_norm
