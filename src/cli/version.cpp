#include "src/cli/version.h"

#include <fmt/format.h>

#include "src/spec/specification.h"

namespace tik::cli {

std::string version_text() { return fmt::format("tik {} (checks {})", TIK_VERSION, spec::checks_version); }

} // namespace tik::cli
