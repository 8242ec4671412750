// A library of operators (operators/library.h), loaded when the program runs: the program itself needs no CUDA.
#pragma once

#include <filesystem>
#include <optional>

#include "operators/check/model/attention_cases.h"
#include "src/base/error.h"

namespace tik::cli {

struct OperatorsLibrary {
  std::filesystem::path file;
  std::string backend; // "cpu" or "sm90"
  operators::Functions functions{};
  operators::check::AttentionFunctions attention{};
};

// Loads the library and finds every function of the contracts. A bad file is the caller's mistake; what it is compiled
// against must be the contracts of this program.
Result<OperatorsLibrary> load_operators(std::filesystem::path const& file);

// The library of this name beside this program, or in ../lib of its folder.
std::optional<std::filesystem::path> find_operators(std::string_view name);

} // namespace tik::cli
