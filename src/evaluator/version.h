// The version of the evaluator: it changes with whatever it checks, measures or reports.
#pragma once

#include <string_view>

namespace tik::evaluator {

inline constexpr std::string_view evaluator_version = "1";

} // namespace tik::evaluator
