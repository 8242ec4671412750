// All checks of the operators but unified attention and what dense_cases.h has, for models or for a suite.
#pragma once

#include "operators/check/models.h"
#include "operators/check/results.h"
#include "operators/check/token_cases.h"

namespace tik::operators::check {

// Every operator at the shapes of the models, each shape once.
void check_operators(Device& device, std::vector<ModelShape> const& models, CaseOptions const& options, Results& results);

// Shapes that no model has: the ends of what contracts allow, and inputs of other distributions.
void check_unusual_shapes(Device& device, CaseOptions const& options, Results& results);

// Requests that contradict a contract: refused before any work, with a sentence that names the argument.
void check_refusals(Device& device, Results& results);

} // namespace tik::operators::check
