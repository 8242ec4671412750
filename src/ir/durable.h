// Making what was written survive a power loss.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.h"

namespace tik::ir {

// Flushes files and folders to disk, all at once: the file system then writes its journal once for all of them, not once for
// each.
Result<void> flush_to_disk(std::vector<std::filesystem::path> const& paths);

// Moves the files `names` below `from` to the same relative place below `to`, on one file system, so that after a power loss
// each is there completely or not at all; returns when all are there for good.
Result<void> publish(std::filesystem::path const& from, std::vector<std::string> const& names, std::filesystem::path const& to);

} // namespace tik::ir
