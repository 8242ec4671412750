#include <algorithm>

#include "operators/cpu/backend.h"
#include "operators/functions.h"
#include "operators/linear/arithmetic.h"
#include "operators/linear/cpu/chain.h"
#include "operators/linear/validate.h"

namespace tik::operators::cpu {
namespace {

void store(tik_linear_args const& args, int64_t token, int64_t column, float sum) {
  if (args.bias) sum = add(sum, to_float(args.bias[column]));
  int64_t const at = token * args.out_stride + column;
  if (args.out_type == TIK_FP32) {
    static_cast<float*>(args.out)[at] = sum;
  } else {
    static_cast<tik_bf16*>(args.out)[at] = to_bf16(sum);
  }
}

template <int Tokens>
void forward_tokens(tik_linear_args const& args, int64_t first) {
  tik_bf16 const* x[Tokens];
  for (int t = 0; t < Tokens; ++t) x[t] = row(args.x, first + t);
  for (int64_t column = 0; column < args.out_features; ++column) {
    float sums[Tokens];
    chain<Tokens>(x, row(args.weight, column), args.in_features, sums);
    for (int t = 0; t < Tokens; ++t) store(args, first + t, column, sums[t]);
  }
}

// Columns of a gradient's row that are summed at once.
constexpr int block_columns = 512;

// sums[c] += factor * source[c], one fused step of each column's chain.
void add_scaled(float factor, tik_bf16 const* source, int columns, float* sums) {
  for (int c = 0; c < columns; ++c) sums[c] = multiply_add(factor, to_float(source[c]), sums[c]);
}

// A chain over n in order, from +0.
void x_gradient_row(tik_linear_backward_args const& args, int64_t token) {
  tik_bf16 const* const out_gradient = row(args.out_gradient, token);
  for (int first = 0; first < args.in_features; first += block_columns) {
    int const columns = std::min(block_columns, args.in_features - first);
    float sums[block_columns] = {};
    for (int64_t n = 0; n < args.out_features; ++n)
      add_scaled(to_float(out_gradient[n]), row(args.weight, n) + first, columns, sums);
    std::transform(sums, sums + columns, row(args.x_gradient, token) + first, to_bf16);
  }
}

// A chain over the tokens in order, from +0, and one addition.
void weight_gradient_row(tik_linear_backward_args const& args, int64_t n) {
  float* const gradient = args.weight_gradient + n * args.in_features;
  for (int first = 0; first < args.in_features; first += block_columns) {
    int const columns = std::min(block_columns, args.in_features - first);
    float sums[block_columns] = {};
    for (int64_t t = 0; t < args.tokens; ++t)
      add_scaled(to_float(row(args.out_gradient, t)[n]), row(args.x, t) + first, columns, sums);
    for (int c = 0; c < columns; ++c) gradient[first + c] = add(gradient[first + c], sums[c]);
  }
}

float bias_gradient(tik_linear_backward_args const& args, int64_t n) {
  float lanes[linear::bias_lanes] = {};
  for (int64_t t = 0; t < args.tokens; ++t) {
    float& lane = lanes[t % linear::bias_lanes];
    lane = add(lane, to_float(row(args.out_gradient, t)[n]));
  }
  return fold_halves(lanes);
}

} // namespace

tik_status linear(tik_linear_args const* args) {
  if (auto bad = linear::validate("tik_linear", args)) return Error::keep(std::move(bad));
  int64_t token = 0;
  for (; token + 4 <= args->tokens; token += 4) forward_tokens<4>(*args, token);
  for (; token < args->tokens; ++token) forward_tokens<1>(*args, token);
  return TIK_OK;
}

tik_status linear_prepare(tik_linear_prepare_args const* args) {
  return Error::keep(linear::validate("tik_linear_prepare", args));
}

tik_status linear_plan(tik_linear_plan_args const* args) {
  if (auto bad = linear::validate(args)) return Error::keep(std::move(bad));
  linear::write_plan(*args, "one way for all sizes on CPUs: the chain of docs/numerics.md, four tokens at a time");
  return TIK_OK;
}

tik_status linear_backward(tik_linear_backward_args const* args) {
  if (auto bad = linear::validate(args)) return Error::keep(std::move(bad));
  if (args->x_gradient.data) {
    for (int64_t t = 0; t < args->tokens; ++t) x_gradient_row(*args, t);
  }
  for (int64_t n = 0; n < args->out_features; ++n) {
    if (args->weight_gradient) weight_gradient_row(*args, n);
    if (args->bias_gradient) args->bias_gradient[n] = add(args->bias_gradient[n], bias_gradient(*args, n));
  }
  return TIK_OK;
}

} // namespace tik::operators::cpu
