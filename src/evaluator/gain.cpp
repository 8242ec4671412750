#include "src/evaluator/gain.h"

#include <algorithm>

namespace tik::evaluator {

std::size_t counted_measurement(std::vector<Comparison> const& measured) {
  auto const largest = std::max_element(measured.begin(), measured.end(),
                                        [](Comparison const& a, Comparison const& b) { return a.total_ratio < b.total_ratio; });
  return static_cast<std::size_t>(largest - measured.begin());
}

bool measured_again(std::vector<Comparison> const& measured, spec::Measurement const& settings) {
  Comparison const& counted = measured[counted_measurement(measured)];
  double const gain = 1 - counted.total_ratio;
  bool const within_noise = gain > 0 && (gain <= settings.noise || gain <= counted.uncertainty);
  return within_noise && static_cast<int>(measured.size()) <= settings.repeats;
}

} // namespace tik::evaluator
