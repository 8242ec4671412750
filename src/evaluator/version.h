// The version of the evaluator: it changes with whatever it checks, measures or reports.
#pragma once

#include <string_view>

namespace tik::evaluator {

// The beginning of a hash over the sources of the evaluator, of what it links of TIK, and of the contract, made when this
// program was built: nobody has to remember to count it up. Two programs of the same sources have the same version, wherever
// they were built.
extern std::string_view const evaluator_version;

} // namespace tik::evaluator
