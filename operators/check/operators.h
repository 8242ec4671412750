// The token-wise operators that the cases know, by their shapes.
#pragma once

#include "operators/check/source.h"
#include "operators/check/token_operator.h"

namespace tik::operators::check {

// RMSNorm of a hidden state (heads 1) or of the heads of a token.
struct NormShape {
  int heads = 1;
  int columns;
  bool residual = false; // of the gradient: something reaches the sum past the norm
  Distribution distribution = Distribution::normal;
};
std::unique_ptr<TokenOperator> make_rms_norm(NormShape const& shape);
std::unique_ptr<TokenOperator> make_rms_norm_backward(NormShape const& shape);

struct RotaryShape {
  int query_heads, key_heads, head_dim;
  bool yarn = false;
  bool inverse = false;
  int positions = 4096;
};
tik_rotary_table_args rotary_table(RotaryShape const& shape); // without the table's memory
std::unique_ptr<TokenOperator> make_rotary(RotaryShape const& shape);

std::unique_ptr<TokenOperator> make_swiglu(int columns, Distribution distribution = Distribution::normal);
std::unique_ptr<TokenOperator> make_swiglu_backward(int columns, Distribution distribution = Distribution::normal);

std::unique_ptr<TokenOperator> make_embedding(int columns, int vocabulary);

} // namespace tik::operators::check
