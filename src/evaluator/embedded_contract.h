// The public headers of the operators, as they were when this program was built: what a candidate is compiled against.
#pragma once

#include <string_view>
#include <vector>

namespace tik::evaluator {

struct EmbeddedFile {
  std::string_view path; // below the include folder: "operators/attention/contract.h"
  std::string_view content;
};

// Every header a candidate may include beyond its own.
std::vector<EmbeddedFile> contract_files();

} // namespace tik::evaluator
