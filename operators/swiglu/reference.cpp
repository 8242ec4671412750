#include "operators/swiglu/reference.h"

#include <cmath>

namespace tik::operators::swiglu {

double reference(double gate, double up) { return gate / (1 + std::exp(-gate)) * up; }

ReferenceGradients reference_gradients(double gate, double up, double out_gradient) {
  double const s = 1 / (1 + std::exp(-gate));
  return {out_gradient * up * s * (1 + gate * (1 - s)), out_gradient * gate * s};
}

} // namespace tik::operators::swiglu
