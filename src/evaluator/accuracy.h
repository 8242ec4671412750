// Distance of a call's outputs from the float64 reference.
#pragma once

#include "src/evaluator/image.h"

namespace tik::evaluator {

struct AccuracyErrors {
  double out = 0; // largest |out - reference| / max|v|
  double lse = 0; // largest |lse - reference|
};

// `outputs` are those of the call that `image` holds, whose inputs come from `dataset`.
Checked<AccuracyErrors> errors_against_reference(spec::WorkloadKind kind, Image const& image, Outputs const& outputs,
                                                 Dataset const& dataset);

// The same for rows of the call drawn at random, as many as `multiplications` of the reference allow, at least one.
Checked<AccuracyErrors> errors_of_some_rows(CallShape const& shape, Image const& image, Outputs const& outputs,
                                            Dataset const& dataset, double multiplications, Random& random);

} // namespace tik::evaluator
