// Products by the plan that was chosen for their sizes, once a process for each device.
#pragma once

#include "operators/linear/sm90/vendor.h"

namespace tik::operators::sm90 {

// Chooses the plan of a forward product when that has not happened. Refuses during the capture of a graph, and when bits
// differ.
std::optional<Refusal> prepare_planned(tik_linear_args const& args);

// Prepares when that has not happened, and says which plan it is.
std::optional<Refusal> describe_planned(tik_linear_args const& args, std::string& text);

// Prepares when that has not happened, then launches.
std::optional<Refusal> launch_planned(tik_linear_args const& args);

// A gradient by the library's first suggestion, the same for all tokens of a bucket.
std::optional<Refusal> launch_planned_gradient(Product const& product, int tokens, void* stream);

} // namespace tik::operators::sm90
