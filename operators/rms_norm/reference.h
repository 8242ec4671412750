// RMSNorm of one row and its gradients in float64, in the plainest way and with none of the canonical arithmetic.
#pragma once

#include <vector>

namespace tik::operators::rms_norm {

using Row = std::vector<double>;

// x / sqrt(mean of x^2 + epsilon) * weight
Row reference(Row const& x, Row const& weight, double epsilon);

struct ReferenceGradients {
  Row x;      // of sum(out_gradient * reference(x, weight, epsilon))
  Row weight; // this row's part
};
ReferenceGradients reference_gradients(Row const& x, Row const& weight, double epsilon, Row const& out_gradient);

} // namespace tik::operators::rms_norm
