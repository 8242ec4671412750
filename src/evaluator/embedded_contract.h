// The public headers of the operators, as they were when this program was built: what a candidate is compiled against.
#pragma once

#include <vector>

#include "src/base/embedded_file.h"

namespace tik::evaluator {

// Every header a candidate may include beyond its own, by its path below the include folder:
// "operators/attention/contract.h".
std::vector<EmbeddedFile> contract_files();

} // namespace tik::evaluator
