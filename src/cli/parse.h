// From the words of a command line to a command.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "src/cli/options.h"

namespace tik::cli {

// The command line asked for no command: text to print and the exit code (help and version: 0; a mistake: 2).
struct Answer {
  int exit_code = 0;
  std::string text;
};

std::variant<Command, Answer> parse(int argc, char const* const* argv);

// The commands with their options, for shell completion.
struct OptionHelp {
  std::string name; // "--json", "-C"
  std::string description;
  bool takes_value = false;
};
struct CommandHelp {
  std::string name, description;
  std::vector<OptionHelp> options;
  std::vector<CommandHelp> commands;
};
CommandHelp command_tree();

} // namespace tik::cli
