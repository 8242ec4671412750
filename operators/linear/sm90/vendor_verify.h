// Compares the library's algorithms with the canonical chain.
#pragma once

#include "operators/linear/sm90/vendor.h"

namespace tik::operators::sm90 {

// The fastest of `suggestions` for the sizes of `args`, measured on random operands of its token bucket (fewer tokens where the
// outputs would be large). Every bit that it computes there is compared with the simple kernel's; a difference is an error.
// (The library has an algorithm without split-K that does differ, but it is 50 times slower than the others.) Allocates,
// synchronises, and frees again.
std::optional<Refusal> choose_verified(tik_linear_args const& args, Suggestions const& suggestions, Algorithm& chosen);

} // namespace tik::operators::sm90
