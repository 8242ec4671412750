#include "src/evaluator/scratch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace tik::evaluator {
namespace {

constexpr std::uint32_t users = 1000; // of one process, in turn

std::uint32_t first_user() { return 2'000'000'000U + static_cast<std::uint32_t>(getpid()) % 2'000'000U * users; }

} // namespace

Result<std::filesystem::path> make_folder(std::filesystem::path const& parent, std::string const& name) {
  std::filesystem::path folder = parent / name;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return machine_error(fmt::format("{}: cannot be made: {}.", folder.string(), problem.message()));
  return folder;
}

std::uint32_t contained_user() {
  static std::atomic<std::uint32_t> next = 0;
  return first_user() + next++ % users;
}

bool is_contained_user(std::uint32_t user) { return user >= first_user() && user < first_user() + users; }

Result<void> hand_over(std::filesystem::path const& folder, std::uint32_t user) {
  if (geteuid() != 0) return {};
  if (chown(folder.c_str(), user, user) == 0) return {};
  return machine_error(fmt::format("{}: cannot be given to a contained user: {}.", folder.string(), std::strerror(errno)));
}

} // namespace tik::evaluator
