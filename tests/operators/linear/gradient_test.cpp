// The float64 gradients against central differences of the float64 function.
#include <gtest/gtest.h>

#include "operators/linear/reference.h"
#include "tests/operators/differences.h"

namespace tik::operators::linear {
namespace {

TEST(LinearReference, GradientsAreThoseOfCentralDifferences) {
  for (Sizes const sizes : {Sizes{1, 4, 3}, Sizes{5, 7, 6}}) {
    std::vector<double> x = random_numbers(sizes.tokens * sizes.in_features, 1);
    std::vector<double> weight = random_numbers(sizes.out_features * sizes.in_features, 2);
    std::vector<double> bias = random_numbers(sizes.out_features, 3);
    std::vector<double> const out_gradient = random_numbers(sizes.tokens * sizes.out_features, 4);
    auto const loss = [&] { return dot(out_gradient, reference(sizes, x, weight, bias)); };
    ReferenceGradients const gradients = reference_gradients(sizes, x, weight, out_gradient);
    expect_gradient(x, gradients.x, loss);
    expect_gradient(weight, gradients.weight, loss);
    expect_gradient(bias, gradients.bias, loss);
  }
}

} // namespace
} // namespace tik::operators::linear
