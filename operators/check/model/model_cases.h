// The consistency cases of every operator at the shapes of one model: what `tik check` runs.
#pragma once

#include <optional>

#include "operators/check/model/attention_cases.h"
#include "operators/validation.h"

namespace tik::operators::check {

// What is checked: memory and the functions that work on it.
struct Backend {
  Device& device;
  AttentionFunctions attention;
  // Not a GPU: of projections and of the vocabulary the first columns alone are computed, whose bits do not depend on the
  // others, and sequences are shorter.
  bool processor = false;
};

// Refuses what no operator takes, with a sentence that names the size.
std::optional<Refusal> validate_model(ModelShape const& shape);

// The names of lines that check_model can have, in their order.
std::vector<std::string> const& checked_operators();

// One line or more an operator. Throws std::runtime_error when the device fails or refuses a good call.
void check_model(Backend const& backend, ModelShape const& shape, CaseOptions const& options, Results& results);

} // namespace tik::operators::check
