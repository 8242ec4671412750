#include "src/cli/scratch.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

namespace tik::cli {

Result<ScratchFolder> ScratchFolder::create() {
  std::error_code failure;
  std::filesystem::path const base = std::filesystem::temp_directory_path(failure);
  if (failure)
    return machine_error(
        fmt::format("No folder for temporary files: {}. Set TMPDIR to one that can be written.", failure.message()));
  std::string name = (base / "tik-XXXXXX").string();
  if (!mkdtemp(name.data()))
    return machine_error(fmt::format("{}: no temporary folder can be made there: {}. Set TMPDIR to another folder.",
                                     base.string(), std::strerror(errno)));
  return ScratchFolder(name);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

} // namespace tik::cli
