// Checks a request against contract.h before any work starts. Pure host code, shared by every backend.
#pragma once

#include <string_view>

#include "operators/linear/contract.h"
#include "operators/validation.h"

namespace tik::operators::linear {

inline constexpr int32_t largest_tokens = 65536;
inline constexpr int32_t largest_in_features = 65536;
inline constexpr int32_t largest_out_features = 1 << 20;
inline constexpr int32_t in_features_step = 16; // of the chain
inline constexpr int32_t out_features_step = 8;

inline std::optional<Refusal> check_multiple(char const* name, int32_t value, int32_t step, int32_t largest) {
  if (value >= step && value <= largest && value % step == 0) return std::nullopt;
  return validation::invalid(name, " is ", value, ", but must be a multiple of ", step, " from ", step, " to ", largest, ".");
}

inline std::optional<Refusal> check_sizes(int32_t tokens, int32_t in_features, char const* out_name, int32_t out_features) {
  using namespace validation;
  return first_of({check_range("tokens", tokens, 1, largest_tokens),
                   check_multiple("in_features", in_features, in_features_step, largest_in_features),
                   check_multiple(out_name, out_features, out_features_step, largest_out_features)});
}

// Rows of `columns` elements that do not overlap.
inline std::optional<Refusal> check_matrix(char const* name, void const* data, int64_t stride, int64_t rows, int64_t columns) {
  using namespace validation;
  std::string const text = name;
  if (auto bad = check_pointer((text + ".data").c_str(), data, tensor_alignment)) return bad;
  return rows == 1 ? std::nullopt : check_stride((text + ".token_stride").c_str(), stride, columns);
}

// An array that may be left out.
inline std::optional<Refusal> check_optional(char const* name, void const* pointer, std::size_t alignment) {
  return pointer == nullptr ? std::nullopt : validation::check_pointer(name, pointer, alignment);
}
inline constexpr std::size_t workspace_alignment = 256;

inline std::optional<Refusal> validate(char const* function, tik_linear_args const* args) {
  using namespace validation;
  if (auto bad = check_args(function, "tik_linear_args", args)) return bad;
  if (auto bad = check_sizes(args->tokens, args->in_features, "out_features", args->out_features)) return bad;
  return first_of({check_matrix("x", args->x.data, args->x.token_stride, args->tokens, args->in_features),
                   check_matrix("weight", args->weight.data, args->weight.token_stride, args->out_features, args->in_features),
                   check_pointer("out", args->out, tensor_alignment),
                   args->tokens == 1 ? std::nullopt : check_stride("out_stride", args->out_stride, args->out_features),
                   check_range("out_type", args->out_type, TIK_BF16, TIK_FP32),
                   check_range("weight_settled", args->weight_settled, 0, 1),
                   check_optional("bias", args->bias, tensor_alignment),
                   check_optional("workspace", args->workspace, workspace_alignment)});
}

inline std::optional<Refusal> validate(tik_linear_plan_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_linear_plan", "tik_linear_plan_args", args)) return bad;
  if (auto bad = validate("tik_linear_plan", &args->call)) return bad;
  return check_pointer("text", args->text, 1);
}

// What a validated tik_linear_plan leaves behind: as much of the plan as there is room for.
inline void write_plan(tik_linear_plan_args const& args, std::string_view plan) {
  std::size_t const written = plan.copy(args.text, TIK_LINEAR_PLAN_BYTES - 1);
  args.text[written] = 0;
}

inline std::optional<Refusal> check_x_gradient(tik_linear_backward_args const& args) {
  if (args.x_gradient.data == nullptr) return std::nullopt;
  return validation::first_of(
      {check_matrix("weight", args.weight.data, args.weight.token_stride, args.out_features, args.in_features),
       check_matrix("x_gradient", args.x_gradient.data, args.x_gradient.token_stride, args.tokens, args.in_features)});
}

inline std::optional<Refusal> check_weight_gradient(tik_linear_backward_args const& args) {
  if (args.weight_gradient == nullptr) return std::nullopt;
  return validation::first_of({check_matrix("x", args.x.data, args.x.token_stride, args.tokens, args.in_features),
                               validation::check_pointer("weight_gradient", args.weight_gradient, tensor_alignment)});
}

inline std::optional<Refusal> validate(tik_linear_backward_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_linear_backward", "tik_linear_backward_args", args)) return bad;
  if (auto bad = check_sizes(args->tokens, args->in_features, "out_features", args->out_features)) return bad;
  if (auto bad = check_matrix("out_gradient", args->out_gradient.data, args->out_gradient.token_stride, args->tokens,
                              args->out_features))
    return bad;
  return first_of({check_x_gradient(*args), check_weight_gradient(*args),
                   check_optional("bias_gradient", args->bias_gradient, tensor_alignment),
                   check_optional("workspace", args->workspace, workspace_alignment)});
}

} // namespace tik::operators::linear
