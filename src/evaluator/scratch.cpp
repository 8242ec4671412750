#include "src/evaluator/scratch.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tik::evaluator {

Result<ScratchFolder> ScratchFolder::make(std::filesystem::path const& parent, std::string const& name) {
  std::string pattern = (parent / (name + '-' + std::string(6, 'X'))).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return machine_error(fmt::format("{}: no folder can be made here: {}. Choose a scratch folder that can be written.",
                                     parent.string(), std::strerror(errno)));
  }
  chmod(pattern.c_str(), 0755); // reached by the contained user
  return ScratchFolder(pattern);
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<std::filesystem::path> make_folder(std::filesystem::path const& parent, std::string const& name) {
  std::filesystem::path folder = parent / name;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return machine_error(fmt::format("{}: cannot be made: {}.", folder.string(), problem.message()));
  return folder;
}

std::uint32_t contained_user() { return 2'000'000'000U + static_cast<std::uint32_t>(getpid()) % 100'000'000U; }

Result<void> hand_over(std::filesystem::path const& folder) {
  if (geteuid() != 0) return {};
  if (chown(folder.c_str(), contained_user(), contained_user()) == 0) return {};
  return machine_error(fmt::format("{}: cannot be given to the contained user: {}.", folder.string(), std::strerror(errno)));
}

} // namespace tik::evaluator
