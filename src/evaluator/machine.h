// What a report says about the machine it was made on.
#pragma once

#include <filesystem>

#include "src/evaluator/report.h"

namespace tik::evaluator {

// Processor model, number of processors, kernel, load, and the compiler that the ELF file `library` names (empty path: none).
Json describe_machine(std::filesystem::path const& library);

} // namespace tik::evaluator
