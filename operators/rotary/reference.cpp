#include "operators/rotary/reference.h"

#include <cmath>

#include "operators/rotary/table.h"

namespace tik::operators::rotary {

std::vector<double> reference(std::vector<double> const& x, int position, tik_rotary_table_args const& table, bool inverse) {
  std::size_t const half = x.size() / 2;
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i < half; ++i) {
    double const angle = position * frequency(table, static_cast<int>(i)) * (inverse ? -1 : 1);
    double const cosine = std::cos(angle) * magnitude(table);
    double const sine = std::sin(angle) * magnitude(table);
    out[i] = x[i] * cosine - x[half + i] * sine;
    out[half + i] = x[half + i] * cosine + x[i] * sine;
  }
  return out;
}

} // namespace tik::operators::rotary
