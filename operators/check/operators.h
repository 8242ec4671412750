// The operators that the cases know, by their shapes.
#pragma once

#include "operators/check/source.h"
#include "operators/check/token_cases.h"
#include "operators/check/token_operator.h"

namespace tik::operators::check {

// RMSNorm of a hidden state (heads 1) or of the heads of a token.
std::unique_ptr<TokenOperator> make_rms_norm(int heads, int columns, bool residual,
                                             Distribution distribution = Distribution::normal);

// Every operator at the shapes of the models that the project names, fewer where the extent is small.
TokenOperators suite_operators(Extent extent);

} // namespace tik::operators::check
