// The products that other operators of this backend are made of. Arguments have been validated; refusals are about the device
// and the vendor's library.
#pragma once

#include "operators/linear/contract.h"
#include "operators/validation.h"

namespace tik::operators::sm90 {

// What tik_linear, tik_linear_prepare and tik_linear_plan do.
std::optional<Refusal> launch_product(tik_linear_args const& args);
std::optional<Refusal> prepare_product(tik_linear_args const& args);
std::optional<Refusal> describe_product(tik_linear_args const& args, std::string& text);

// What tik_linear_backward does for the weight.
std::optional<Refusal> launch_weight_gradient(tik_linear_backward_args const& args);

// x_gradient of tik_linear_backward in fp32, dense [tokens, in_features]; `onto`: added to what is there.
std::optional<Refusal> launch_x_gradient_onto(tik_linear_backward_args const& args, float* x_gradient, bool onto);

} // namespace tik::operators::sm90
