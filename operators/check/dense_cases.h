// The cases of dense linear and of the language-model head: whatever else is in a call, a token's outputs have the bits they
// have when the token is alone, and the bits of columns do not depend on which columns are computed together.
#pragma once

#include <cstdint>

#include "operators/check/device.h"
#include "operators/check/results.h"
#include "operators/check/token_cases.h"

namespace tik::operators::check {

struct LinearShape {
  int in_features;
  int out_features;
  bool bias = false;
  bool fp32 = false;
  int gap = 0;         // elements between rows of every matrix, a multiple of 8
  int of_features = 0; // where only the first columns of a projection are checked: how many it has
};
std::string describe(LinearShape const& shape);

struct HeadShape {
  int in_features;
  int vocabulary;
  float temperature = 1;
  int of_vocabulary = 0; // where only the first columns are checked: how many there are
};
std::string describe(HeadShape const& shape);

// What the cases of one operator and shape depend on beside it.
struct DenseOptions {
  Extent extent = Extent::brief;
  std::uint64_t seed = 1;
};

// Each opens a line and runs its cases. Throws std::runtime_error when the device fails.
void check_linear(Device& device, LinearShape const& shape, DenseOptions const& options, Results& results);
void check_language_model_head(Device& device, HeadShape const& shape, DenseOptions const& options, Results& results);

// Gradients against float64 on small matrices, and the same bits when a call is repeated.
void check_linear_gradients(Device& device, Results& results);
void check_head_gradients(Device& device, Results& results);

// Requests that contradict a contract: refused before any work, with a sentence that names the argument.
void check_dense_refusals(Device& device, Results& results);

// All of it: every projection of the models that the project names (fewer where the extent is small), shapes at the ends of the
// contract, vocabularies that end inside a part.
void check_dense(Device& device, DenseOptions const& options, Results& results);

} // namespace tik::operators::check
