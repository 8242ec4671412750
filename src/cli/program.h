// Runs another program to its end and keeps what it said.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.h"

namespace tik::cli {

struct Finished {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string output; // standard output and standard error together
};

// `command` is an argument vector, its first word searched in PATH; standard input is empty. A machine error when it cannot be
// started.
Result<Finished> run_program(std::vector<std::string> const& command, std::filesystem::path const& working_directory = {});

} // namespace tik::cli
