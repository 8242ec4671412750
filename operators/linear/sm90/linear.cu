// Dense linear on Hopper: validated calls go to the plan of their sizes, gradients to the library and a kernel for the bias.
#include "operators/functions.h"
#include "operators/linear/sm90/bias_gradient_kernel.cuh"
#include "operators/linear/sm90/plans.h"
#include "operators/linear/sm90/products.h"
#include "operators/linear/sm90/vendor.h"
#include "operators/linear/validate.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {
namespace {

// A stride that is never used must still be one that kernels and the library take.
tik_linear_args with_strides(tik_linear_args args) {
  if (args.tokens == 1) args.x.token_stride = args.in_features, args.out_stride = args.out_features;
  return args;
}

std::optional<Refusal> launch_x_gradient(tik_linear_backward_args const& args) {
  return launch_planned_gradient(x_gradient_product(args), args.tokens, args.stream);
}

cudaError_t launch_bias_gradient(tik_linear_backward_args const& args) {
  dim3 const grid((args.out_features + bias_block_columns - 1) / bias_block_columns);
  return launch_overlapped(bias_gradient_kernel, grid, bias_threads, args.stream, args.out_gradient.data,
                           args.out_gradient.token_stride, args.tokens, args.out_features, args.bias_gradient);
}

std::optional<Refusal> backward(tik_linear_backward_args args) {
  if (args.tokens == 1) {
    args.x.token_stride = args.x_gradient.token_stride = args.in_features;
    args.out_gradient.token_stride = args.out_features;
  }
  if (args.x_gradient.data) {
    if (auto bad = launch_x_gradient(args)) return bad;
  }
  if (args.weight_gradient) {
    if (auto bad = launch_weight_gradient(args)) return bad;
  }
  if (!args.bias_gradient) return std::nullopt;
  return device_error("launching tik_linear_backward", launch_bias_gradient(args));
}

} // namespace

std::optional<Refusal> launch_product(tik_linear_args const& args) { return launch_planned(with_strides(args)); }

std::optional<Refusal> prepare_product(tik_linear_args const& args) { return prepare_planned(with_strides(args)); }

std::optional<Refusal> describe_product(tik_linear_args const& args, std::string& text) {
  return describe_planned(with_strides(args), text);
}

std::optional<Refusal> launch_weight_gradient(tik_linear_backward_args const& args) {
  return launch_planned_gradient(weight_gradient_product(args), args.tokens, args.stream);
}

std::optional<Refusal> launch_x_gradient_onto(tik_linear_backward_args const& args, float* x_gradient, bool onto) {
  Product product = x_gradient_product(args);
  product.out = x_gradient;
  product.out_gap = args.in_features;
  product.fp32_out = true;
  product.onto = onto;
  return launch_planned_gradient(product, args.tokens, args.stream);
}

tik_status linear(tik_linear_args const* args) {
  auto bad = linear::validate("tik_linear", args);
  if (!bad) bad = check_device();
  if (!bad) bad = launch_product(*args);
  return Error::keep(std::move(bad));
}

tik_status linear_prepare(tik_linear_prepare_args const* args) {
  auto bad = linear::validate("tik_linear_prepare", args);
  if (!bad) bad = check_device();
  if (!bad) bad = prepare_product(*args);
  return Error::keep(std::move(bad));
}

tik_status linear_plan(tik_linear_plan_args const* args) {
  auto bad = linear::validate(args);
  if (!bad) bad = check_device();
  std::string plan;
  if (!bad) bad = describe_product(args->call, plan);
  if (!bad) linear::write_plan(*args, plan);
  return Error::keep(std::move(bad));
}

tik_status linear_backward(tik_linear_backward_args const* args) {
  auto bad = linear::validate(args);
  if (!bad) bad = check_device();
  if (!bad) bad = backward(*args);
  return Error::keep(std::move(bad));
}

} // namespace tik::operators::sm90
