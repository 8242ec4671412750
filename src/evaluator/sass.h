// The machine instructions of a GPU library: the instruction evidence of a GPU.
#pragma once

#include <string_view>

#include "src/evaluator/report.h"

namespace tik::evaluator {

// Counts the instructions in the text of `cuobjdump --dump-sass`, by kernel:
// {"kernels": [{"kernel", "instructions", "bytes", "classes": {"wgmma": n, ...}, "forms": {"HGMMA.64x128x16.F32.BF16": n,
// ...}}],
//  "total": {...}}. Forms are the complete names of tensor-core, bulk-copy and asynchronous-copy instructions.
Json summarize_sass(std::string_view text);

} // namespace tik::evaluator
