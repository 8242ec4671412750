// A unified diff for a person.
#pragma once

#include <string>

#include "src/cli/console.h"

namespace tik::cli {

// The diff with its lines coloured where colours are shown; ends with a line break unless empty.
std::string diff_text(std::string const& diff, Console const& console);

} // namespace tik::cli
