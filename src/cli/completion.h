// Shell completion, generated from the commands themselves.
#pragma once

#include <string>

#include "src/cli/parse.h"

namespace tik::cli {

// A script for bash, zsh or fish that completes commands, options and, where a value is due, file names.
std::string completion_script(CommandHelp const& tree, std::string const& shell);

} // namespace tik::cli
