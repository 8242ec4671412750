// The options of `tik run`, and the numbers that options take.
#pragma once

#include <CLI/CLI.hpp>

#include "src/cli/options.h"

namespace tik::cli {

inline constexpr char without_help[] =
    "Withhold a part from the agent: history, numerics, evidence, opportunities or lineage; may be repeated. Checks stay";

// How often an option may be given that may be repeated.
inline constexpr int any_number = CLI::detail::expected_max_vector_size;

// Finite numbers: "nan" and "inf" would be limits that are never reached.
CLI::Validator positive_number();
CLI::Validator non_negative_number();

// Everything but the search's folder and the host that audits.
void add_run_options(CLI::App& sub, Run& run);

} // namespace tik::cli
