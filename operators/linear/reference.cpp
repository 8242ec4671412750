#include "operators/linear/reference.h"

#include <cstddef>

namespace tik::operators::linear {

std::vector<double> reference(Sizes const& sizes, std::vector<double> const& x, std::vector<double> const& weight,
                              std::vector<double> const& bias) {
  std::size_t const in = sizes.in_features, out = sizes.out_features;
  std::vector<double> sums(sizes.tokens * out);
  for (std::size_t t = 0; t < static_cast<std::size_t>(sizes.tokens); ++t) {
    for (std::size_t n = 0; n < out; ++n) {
      double sum = bias.empty() ? 0 : bias[n];
      for (std::size_t k = 0; k < in; ++k) sum += x[t * in + k] * weight[n * in + k];
      sums[t * out + n] = sum;
    }
  }
  return sums;
}

ReferenceGradients reference_gradients(Sizes const& sizes, std::vector<double> const& x, std::vector<double> const& weight,
                                       std::vector<double> const& out_gradient) {
  std::size_t const in = sizes.in_features, out = sizes.out_features;
  ReferenceGradients gradients{std::vector<double>(x.size()), std::vector<double>(weight.size()), std::vector<double>(out)};
  for (std::size_t t = 0; t < static_cast<std::size_t>(sizes.tokens); ++t) {
    for (std::size_t n = 0; n < out; ++n) {
      double const g = out_gradient[t * out + n];
      gradients.bias[n] += g;
      for (std::size_t k = 0; k < in; ++k) {
        gradients.x[t * in + k] += g * weight[n * in + k];
        gradients.weight[n * in + k] += g * x[t * in + k];
      }
    }
  }
  return gradients;
}

} // namespace tik::operators::linear
