// The head with log-probability and its gradients in float64, in the plainest way. Matrices are dense, row by row.
#pragma once

#include <vector>

#include "operators/linear/reference.h"

namespace tik::operators::language_model_head {

// Of one row of logits, already divided by the temperature.
struct ReferenceRow {
  double log_sum;
  double log_probability; // 0 for a negative target
  double entropy;
};
ReferenceRow reference_row(std::vector<double> const& z, int target);

// One for each token; sizes.out_features is the vocabulary.
std::vector<ReferenceRow> reference(linear::Sizes const& sizes, std::vector<double> const& x, std::vector<double> const& weight,
                                    std::vector<int> const& targets, double temperature);

struct ReferenceGradients {
  std::vector<double> x;
  std::vector<double> weight;
};
// Of sum(log_probability_gradient * log_probability + entropy_gradient * entropy).
ReferenceGradients reference_gradients(linear::Sizes const& sizes, std::vector<double> const& x,
                                       std::vector<double> const& weight, std::vector<int> const& targets, double temperature,
                                       std::vector<double> const& log_probability_gradient,
                                       std::vector<double> const& entropy_gradient);

} // namespace tik::operators::language_model_head
