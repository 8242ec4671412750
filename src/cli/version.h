// Which TIK this is.
#pragma once

#include <string>

namespace tik::cli {

// "tik 0.1.0 (checks 1)": the program's version and that of the checks, which a search's seal covers.
std::string version_text();

} // namespace tik::cli
