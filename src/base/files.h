// Reading and writing whole files, and the wall clock as text.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "src/base/error.h"

namespace tik {

// The whole content; the error names the file and the system's reason.
Result<std::string> read_file(std::filesystem::path const& file);

// Whether what was written survives a power loss. Waiting for a disk is slow, and scratch files need not survive.
enum class Flush { yes, no };

// Writes beside the target, flushes to disk and renames over it: a reader sees the old or the new content, never half of it.
Result<void> write_file(std::filesystem::path const& file, std::string_view content, Flush flush = Flush::yes);

// Now in UTC, ISO 8601 with milliseconds: 2026-01-31T12:34:56.789Z.
std::string utc_now();

} // namespace tik
