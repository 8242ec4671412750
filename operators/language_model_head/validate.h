// Checks a request against contract.h before any work starts. Pure host code, shared by every backend.
#pragma once

#include <cfloat>

#include "operators/language_model_head/contract.h"
#include "operators/language_model_head/workspace.h"
#include "operators/linear/validate.h"

namespace tik::operators::language_model_head {

inline std::optional<Refusal> check_temperature(float temperature) {
  if (temperature > 0 && temperature <= FLT_MAX && 1 / temperature > 0 && 1 / temperature <= FLT_MAX) return std::nullopt;
  return validation::invalid("temperature is ", temperature,
                             ", but must be finite and greater than 0; for greedy sampling take the log-probability at 1.");
}

inline std::optional<Refusal> check_numbers(char const* name, void const* numbers, bool needed) {
  if (numbers == nullptr && !needed) return std::nullopt;
  return validation::check_pointer(name, numbers, sizeof(float));
}

inline std::optional<Refusal> check_outputs(tik_log_probability_outputs const& outputs) {
  return validation::first_of({check_numbers("outputs.targets", outputs.targets, true),
                               check_numbers("outputs.log_probability", outputs.log_probability, true),
                               check_numbers("outputs.entropy", outputs.entropy, false),
                               check_numbers("outputs.log_sum", outputs.log_sum, false)});
}

// Sizes, temperature, x and weight of a forward or backward call.
template <typename Args>
std::optional<Refusal> check_product(Args const& args) {
  return validation::first_of(
      {linear::check_sizes(args.tokens, args.in_features, "vocabulary", args.vocabulary), check_temperature(args.temperature),
       linear::check_matrix("x", args.x.data, args.x.token_stride, args.tokens, args.in_features),
       linear::check_matrix("weight", args.weight.data, args.weight.token_stride, args.vocabulary, args.in_features)});
}

inline std::optional<Refusal> validate(char const* function, tik_language_model_head_args const* args) {
  using namespace validation;
  if (auto bad = check_args(function, "tik_language_model_head_args", args)) return bad;
  if (auto bad = first_of(
          {check_product(*args), check_outputs(args->outputs), check_range("weight_settled", args->weight_settled, 0, 1)})) {
    return bad;
  }
  return check_workspace(args->workspace, args->workspace_bytes, forward_regions(args->tokens, args->vocabulary).bytes,
                         workspace_alignment, "tik_language_model_head_workspace_bytes");
}

inline std::optional<Refusal> validate(tik_token_log_probability_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_token_log_probability", "tik_token_log_probability_args", args)) return bad;
  if (auto bad = first_of(
          {check_range("tokens", args->tokens, 1, linear::largest_tokens),
           linear::check_multiple("vocabulary", args->vocabulary, linear::out_features_step, linear::largest_out_features),
           check_temperature(args->temperature), check_pointer("logits", args->logits, tensor_alignment),
           args->tokens == 1 ? std::nullopt : check_stride("logits_stride", args->logits_stride, args->vocabulary),
           check_outputs(args->outputs)})) {
    return bad;
  }
  return check_workspace(args->workspace, args->workspace_bytes, softmax_regions(args->tokens, args->vocabulary).bytes,
                         workspace_alignment, "tik_token_log_probability_workspace_bytes");
}

inline std::optional<Refusal> validate(tik_language_model_head_backward_args const* args) {
  using namespace validation;
  if (auto bad = check_args("tik_language_model_head_backward", "tik_language_model_head_backward_args", args)) return bad;
  if (auto bad = first_of({check_product(*args), check_numbers("targets", args->targets, true),
                           check_numbers("log_sum", args->log_sum, true),
                           check_numbers("entropy", args->entropy, args->entropy_gradient != nullptr),
                           check_numbers("log_probability_gradient", args->log_probability_gradient, true),
                           check_numbers("entropy_gradient", args->entropy_gradient, false)})) {
    return bad;
  }
  if (args->x_gradient.data != nullptr) {
    if (auto bad = linear::check_matrix("x_gradient", args->x_gradient.data, args->x_gradient.token_stride, args->tokens,
                                        args->in_features)) {
      return bad;
    }
  }
  if (args->weight_gradient != nullptr) {
    if (auto bad = check_pointer("weight_gradient", args->weight_gradient, tensor_alignment)) return bad;
  }
  return check_workspace(args->workspace, args->workspace_bytes,
                         backward_regions(args->tokens, args->in_features, args->vocabulary).bytes, workspace_alignment,
                         "tik_language_model_head_backward_workspace_bytes");
}

} // namespace tik::operators::language_model_head
