// A source tree on disk, read and written with nothing followed that could lead out of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.h"

namespace tik {

struct SourceFile {
  std::string name; // relative to the folder, parts joined by '/'
  std::string content;
  bool executable = false;
};

// Bounds on what a candidate may hold.
inline constexpr std::size_t most_source_files = 4096;
inline constexpr std::size_t largest_source_bytes = 64 << 20; // all files together
inline constexpr int deepest_source_folder = 32;

// Why `name` cannot be the name of one file or folder inside a source tree; empty when it can.
std::string_view bad_source_name(std::string_view name);

// What the hash of a source tree is made of: one entry for each file.
struct SourceDigest {
  std::string name;
  std::size_t bytes = 0;
  std::string content_sha256;
};

// SHA-256 over names and contents, sorted by name: equal for equal trees, wherever they lie.
std::string hash_source_digests(std::vector<SourceDigest> digests);
std::string hash_source_files(std::vector<SourceFile> const& files);

// Every regular file below `folder`, sorted by name. Anything that is neither a regular file nor a folder, a name that is not
// UTF-8 or holds control characters, or too much of anything is an input error that names it.
Result<std::vector<SourceFile>> read_source_folder(std::filesystem::path const& folder);

// What becomes of that which lies in a folder that is written.
enum class OldContent {
  refuse,  // the folder must be empty or absent
  replace, // it is removed, except files that are the same
};

// Afterwards `folder` holds these files and nothing else.
Result<void> write_source_folder(std::filesystem::path const& folder, std::vector<SourceFile> const& files,
                                 OldContent old_content = OldContent::refuse);

} // namespace tik
