#include "operators/rms_norm/reference.h"

#include <cmath>
#include <cstddef>

namespace tik::operators::rms_norm {
namespace {

double inverse_root_mean_square(Row const& x, double epsilon) {
  double squares = 0;
  for (double const value : x) squares += value * value;
  return 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
}

} // namespace

Row reference(Row const& x, Row const& weight, double epsilon) {
  double const r = inverse_root_mean_square(x, epsilon);
  Row out(x.size());
  for (std::size_t c = 0; c < x.size(); ++c) out[c] = x[c] * r * weight[c];
  return out;
}

ReferenceGradients reference_gradients(Row const& x, Row const& weight, double epsilon, Row const& out_gradient) {
  double const r = inverse_root_mean_square(x, epsilon);
  ReferenceGradients gradients{Row(x.size()), Row(x.size())};
  double product = 0;
  for (std::size_t c = 0; c < x.size(); ++c) product += out_gradient[c] * weight[c] * x[c];
  for (std::size_t c = 0; c < x.size(); ++c) {
    gradients.x[c] = r * (out_gradient[c] * weight[c] - x[c] * r * r * product / static_cast<double>(x.size()));
    gradients.weight[c] = out_gradient[c] * x[c] * r;
  }
  return gradients;
}

} // namespace tik::operators::rms_norm
