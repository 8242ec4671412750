// What ptxas says about the kernels it compiles (-Xptxas -v): the compiler evidence of a GPU.
#pragma once

#include <string>
#include <string_view>

#include "src/evaluator/report.h"

namespace tik::evaluator {

// Whether a build command is for nvcc, which is then told to say it.
bool is_nvcc(std::string_view compiler);

// {"kernels": [{"kernel", "registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes", "barriers",
// "static_shared_bytes"}],
//  "remarks": ["... wgmma serialized ..."]}, kernels in the order of the log.
Json summarize_ptxas(std::string_view log);

} // namespace tik::evaluator
