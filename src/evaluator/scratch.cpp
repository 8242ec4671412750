#include "src/evaluator/scratch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tik::evaluator {

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
