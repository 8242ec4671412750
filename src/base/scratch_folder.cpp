#include "src/base/scratch_folder.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace tik {

Result<ScratchFolder> ScratchFolder::make(std::filesystem::path const& parent, std::string const& name) {
  std::string pattern = (parent / (name + '-' + std::string(6, 'X'))).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return machine_error(fmt::format("{}: no folder can be made here: {}. Choose a scratch folder that can be written.",
                                     parent.string(), std::strerror(errno)));
  }
  chmod(pattern.c_str(), 0755); // contained processes may run as another user
  return ScratchFolder(pattern);
}

Result<ScratchFolder> ScratchFolder::temporary(std::string const& name) {
  std::error_code problem;
  std::filesystem::path const base = std::filesystem::temp_directory_path(problem);
  if (problem) {
    return machine_error(
        fmt::format("No folder for temporary files: {}. Set TMPDIR to one that can be written.", problem.message()));
  }
  Result<ScratchFolder> folder = make(base, name);
  if (!folder) return machine_error(folder.error().message + " TMPDIR says where that is.");
  return folder;
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

} // namespace tik
