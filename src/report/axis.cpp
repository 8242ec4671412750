#include "src/report/axis.h"

#include <algorithm>
#include <cmath>

namespace tik::report {

std::vector<double> linear_ticks(double largest, int wanted) {
  double const rough = std::max(largest, 1e-9) / std::max(wanted, 1);
  double const power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * 10;
  for (double const factor : {1.0, 2.0, 5.0})
    if (power * factor >= rough * (1 - 1e-9)) {
      step = power * factor;
      break;
    }
  std::vector<double> ticks;
  for (int i = 0; ticks.empty() || ticks.back() < largest * (1 - 1e-9); ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> logarithmic_ticks(double smallest, double largest) {
  double const decades = std::log10(largest / smallest);
  std::vector<double> const factors = decades < 1.5 ? std::vector<double>{1, 2, 5}
                                      : decades < 3 ? std::vector<double>{1, 3}
                                                    : std::vector<double>{1};
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(smallest))); power <= largest * (1 + 1e-9); power *= 10)
    for (double const factor : factors)
      if (double const tick = power * factor; tick >= smallest * (1 - 1e-9) && tick <= largest * (1 + 1e-9))
        ticks.push_back(tick);
  return ticks;
}

double Scale::operator()(double value) const {
  double const part = logarithmic ? std::log(value / from_value) / std::log(to_value / from_value)
                                  : (value - from_value) / (to_value - from_value);
  return from_pixel + part * (to_pixel - from_pixel);
}

} // namespace tik::report
