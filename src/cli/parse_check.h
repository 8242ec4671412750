// The options of `tik check`.
#pragma once

#include <CLI/CLI.hpp>

#include "src/cli/options.h"

namespace tik::cli {

// Everything but --json.
void add_check_options(CLI::App& sub, Check& check);

} // namespace tik::cli
