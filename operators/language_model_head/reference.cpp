#include "operators/language_model_head/reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tik::operators::language_model_head {
namespace {

// The logits of a token over the temperature.
std::vector<double> row_of(std::vector<double> const& logits, std::size_t token, std::size_t vocabulary, double temperature) {
  auto const first = logits.begin() + static_cast<std::ptrdiff_t>(token * vocabulary);
  std::vector<double> z(first, first + static_cast<std::ptrdiff_t>(vocabulary));
  for (double& value : z) value /= temperature;
  return z;
}

} // namespace

ReferenceRow reference_row(std::vector<double> const& z, int target) {
  double const largest = *std::max_element(z.begin(), z.end());
  double sum = 0;
  for (double const value : z) sum += std::exp(value - largest);
  double const log_sum = largest + std::log(sum);
  double entropy = 0;
  for (double const value : z) entropy -= std::exp(value - log_sum) * (value - log_sum);
  return {log_sum, target < 0 ? 0 : z[static_cast<std::size_t>(target)] - log_sum, entropy};
}

std::vector<ReferenceRow> reference(linear::Sizes const& sizes, std::vector<double> const& x, std::vector<double> const& weight,
                                    std::vector<int> const& targets, double temperature) {
  auto const logits = linear::reference(sizes, x, weight, {});
  std::vector<ReferenceRow> rows;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    rows.push_back(reference_row(row_of(logits, t, static_cast<std::size_t>(sizes.out_features), temperature), targets[t]));
  }
  return rows;
}

ReferenceGradients reference_gradients(linear::Sizes const& sizes, std::vector<double> const& x,
                                       std::vector<double> const& weight, std::vector<int> const& targets, double temperature,
                                       std::vector<double> const& log_probability_gradient,
                                       std::vector<double> const& entropy_gradient) {
  auto const vocabulary = static_cast<std::size_t>(sizes.out_features);
  auto const logits = linear::reference(sizes, x, weight, {});
  std::vector<double> gradient(logits.size());
  for (std::size_t t = 0; t < targets.size(); ++t) {
    auto const z = row_of(logits, t, vocabulary, temperature);
    ReferenceRow const row = reference_row(z, targets[t]);
    for (std::size_t v = 0; v < vocabulary; ++v) {
      double const log_p = z[v] - row.log_sum;
      double const p = std::exp(log_p);
      double sum = -entropy_gradient[t] * p * (log_p + row.entropy);
      if (targets[t] >= 0) sum += log_probability_gradient[t] * ((static_cast<int>(v) == targets[t] ? 1 : 0) - p);
      gradient[t * vocabulary + v] = sum / temperature;
    }
  }
  auto gradients = linear::reference_gradients(sizes, x, weight, gradient);
  return {std::move(gradients.x), std::move(gradients.weight)};
}

} // namespace tik::operators::language_model_head
