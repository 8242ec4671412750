// A candidate's folder: its hash, and a private copy that nothing outside can change while it is evaluated.
#pragma once

#include <filesystem>

#include "src/base/error.h"

namespace tik::evaluator {

// Copies plain files and folders; an input error names anything else (links, devices) and trees that are too large.
Result<void> copy_source_tree(std::filesystem::path const& from, std::filesystem::path const& to);

} // namespace tik::evaluator
