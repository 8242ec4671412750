// Dense linear and its gradients in float64, in the plainest way. Matrices are dense, row by row.
#pragma once

#include <vector>

namespace tik::operators::linear {

struct Sizes {
  int tokens;
  int in_features;
  int out_features;
};

// x [tokens, in_features] times the transpose of weight [out_features, in_features], plus bias [out_features] unless empty.
std::vector<double> reference(Sizes const& sizes, std::vector<double> const& x, std::vector<double> const& weight,
                              std::vector<double> const& bias);

struct ReferenceGradients {
  std::vector<double> x;      // [tokens, in_features]
  std::vector<double> weight; // [out_features, in_features]
  std::vector<double> bias;   // [out_features]
};
// Of sum(out_gradient * reference(...)).
ReferenceGradients reference_gradients(Sizes const& sizes, std::vector<double> const& x, std::vector<double> const& weight,
                                       std::vector<double> const& out_gradient);

} // namespace tik::operators::linear
