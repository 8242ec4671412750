// Where ticks stand on an axis, and how values map to pixels.
#pragma once

#include <vector>

namespace tik::report {

// About `wanted` round values (1, 2 or 5 times a power of ten) from 0 up to at least `largest`.
std::vector<double> linear_ticks(double largest, int wanted);

// The powers of ten within [smallest, largest], with 3 times them where these are few and with 2 and 5 times them where fewer.
std::vector<double> logarithmic_ticks(double smallest, double largest);

// A value's place between two ends.
struct Scale {
  double from_value = 0, to_value = 1, from_pixel = 0, to_pixel = 1;
  bool logarithmic = false;
  double operator()(double value) const;
};

} // namespace tik::report
