#include "src/evaluator/statistics.h"

#include <algorithm>
#include <cmath>

namespace tik::evaluator {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::size_t const middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  double const upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle)) + upper) / 2;
}

double spread(std::vector<double> const& values) {
  double const center = median(values);
  std::vector<double> deviations;
  for (double const value : values) deviations.push_back(std::abs(value - center));
  return median(std::move(deviations));
}

double median_uncertainty(std::vector<double> const& values) {
  if (values.size() < 2) return INFINITY;
  // For normal noise: sigma is 1.4826 spreads, and the median of n values varies with 1.2533 sigma / sqrt(n).
  return 1.96 * 1.2533 * 1.4826 * spread(values) / std::sqrt(static_cast<double>(values.size()));
}

} // namespace tik::evaluator
