#include "src/ir/durable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

namespace tik::ir {
namespace {

constexpr std::size_t most_single_flushes = 256; // beyond, one flush of the whole file system is cheaper

class OpenPath {
 public:
  explicit OpenPath(std::filesystem::path const& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  OpenPath(OpenPath&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenPath& operator=(OpenPath&&) = delete;
  ~OpenPath() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

Error failure(std::filesystem::path const& path, std::string_view what, std::error_code const& error) {
  return {ErrorKind::machine,
          fmt::format("{}: {}: {}: check free space and permissions, then run again.", path.string(), what, error.message())};
}

} // namespace

Result<void> flush_to_disk(std::vector<std::filesystem::path> const& paths) {
  if (paths.empty()) return {};
  auto const failed = [](std::filesystem::path const& path, std::string_view what) {
    return tl::unexpected(failure(path, what, std::error_code(errno, std::generic_category())));
  };
  if (paths.size() > most_single_flushes) {
    OpenPath const first(paths.front());
    if (first.descriptor() >= 0 && syncfs(first.descriptor()) == 0) return {};
    return failed(paths.front(), "its file system cannot be flushed");
  }
  std::vector<OpenPath> open_paths;
  for (auto const& path : paths) {
    open_paths.emplace_back(path);
    if (open_paths.back().descriptor() < 0) return failed(path, "cannot be flushed to disk");
    // Only a hint, and none for folders: the disk works on all files while the first is waited for.
    sync_file_range(open_paths.back().descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE);
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (fsync(open_paths[i].descriptor()) != 0) return failed(paths[i], "cannot be flushed to disk");
  }
  return {};
}

Result<void> publish(std::filesystem::path const& from, std::vector<std::string> const& names,
                     std::filesystem::path const& to) {
  std::vector<std::filesystem::path> files;
  files.reserve(names.size());
  for (auto const& name : names) files.push_back(from / name);
  TIK_CHECK(flush_to_disk(files));
  std::error_code error;
  std::set<std::filesystem::path> folders;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto const target = to / names[i];
    if (std::filesystem::create_directories(target.parent_path(), error)) folders.insert(target.parent_path().parent_path());
    if (!error) std::filesystem::rename(files[i], target, error);
    if (error) return tl::unexpected(failure(target, "cannot be moved into place", error));
    folders.insert(target.parent_path());
  }
  return flush_to_disk({folders.begin(), folders.end()});
}

} // namespace tik::ir
