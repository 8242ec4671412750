#include "src/search/layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace tik::search {
namespace {

constexpr std::size_t kept_builds = 64;

tl::unexpected<Error> refused(std::filesystem::path const& path, std::string_view what, std::string const& reason) {
  return machine_error(
      fmt::format("{}: cannot be {}: {}; check the permissions and the free space.", path.string(), what, reason));
}

} // namespace

Result<void> renew_folder(std::filesystem::path const& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) return refused(folder, "removed", error.message());
  std::filesystem::create_directories(folder, error);
  if (error) return refused(folder, "created", error.message());
  return {};
}

Result<void> renew_work(Layout const& layout) {
  std::error_code error;
  std::filesystem::create_directories(layout.build_cache(), error);
  if (error) return refused(layout.build_cache(), "created", error.message());
  std::filesystem::directory_iterator entries(layout.work(), error);
  if (error) return refused(layout.work(), "read", error.message());
  for (std::filesystem::directory_entry const& entry : entries) {
    if (entry.path() == layout.build_cache()) continue;
    std::filesystem::remove_all(entry.path(), error);
    if (error) return refused(entry.path(), "removed", error.message());
  }
  return renew_folder(layout.scratch());
}

Result<void> prune_build_cache(Layout const& layout) {
  std::error_code error;
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> builds;
  for (std::filesystem::directory_entry const& entry : std::filesystem::directory_iterator(layout.build_cache(), error))
    builds.emplace_back(entry.last_write_time(error), entry.path());
  if (builds.size() <= kept_builds) return {};
  std::sort(builds.begin(), builds.end());
  builds.resize(builds.size() - kept_builds / 2);
  for (auto const& [time, path] : builds) {
    std::filesystem::remove_all(path, error);
    if (error) return refused(path, "removed", error.message());
  }
  return {};
}

Result<void> flush_folder(std::filesystem::path const& folder) {
  int const descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return refused(folder, "opened", std::strerror(errno));
  int const failed = fsync(descriptor) != 0 ? errno : 0;
  close(descriptor);
  if (failed) return refused(folder, "flushed to disk", std::strerror(failed));
  return {};
}

} // namespace tik::search
