// SwiGLU of one element and its gradients in float64.
#pragma once

namespace tik::operators::swiglu {

double reference(double gate, double up);

struct ReferenceGradients {
  double gate, up;
};
ReferenceGradients reference_gradients(double gate, double up, double out_gradient);

} // namespace tik::operators::swiglu
