#include "src/ir/durable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>
#include <thread>

namespace tik::ir {
namespace {

constexpr std::size_t most_threads = 8;
constexpr std::size_t most_single_flushes = 256; // beyond, one flush of the whole file system is cheaper

// 0 or the errno. `call` is fsync or syncfs.
int flush(std::filesystem::path const& path, int (*call)(int)) {
  int const descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  int const result = call(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  return result;
}

Error failure(std::filesystem::path const& path, std::string_view what, std::error_code const& error) {
  return {ErrorKind::machine,
          fmt::format("{}: {}: {}: check free space and permissions, then run again.", path.string(), what, error.message())};
}

} // namespace

Result<void> flush_to_disk(std::vector<std::filesystem::path> const& paths) {
  if (paths.size() > most_single_flushes) {
    int const result = flush(paths.front(), syncfs);
    if (result == 0) return {};
    return tl::unexpected(
        failure(paths.front(), "its file system cannot be flushed", std::error_code(result, std::generic_category())));
  }
  std::atomic<std::size_t> next{0};
  std::vector<int> results(paths.size(), 0);
  auto const work = [&] {
    for (std::size_t i = next++; i < paths.size(); i = next++) results[i] = flush(paths[i], fsync);
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 1; i < std::min(most_threads, paths.size()); ++i) threads.emplace_back(work);
    } catch (std::system_error const&) { // no more threads: those that there are do the work
    }
    work();
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (results[i] != 0)
      return tl::unexpected(
          failure(paths[i], "cannot be flushed to disk", std::error_code(results[i], std::generic_category())));
  }
  return {};
}

Result<void> publish(std::filesystem::path const& from, std::filesystem::path const& to) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(from, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  if (error) return tl::unexpected(failure(from, "cannot be listed", error));
  TIK_CHECK(flush_to_disk(files));
  std::set<std::filesystem::path> folders;
  for (auto const& file : files) {
    auto const target = to / file.lexically_relative(from);
    if (std::filesystem::create_directories(target.parent_path(), error)) folders.insert(target.parent_path().parent_path());
    if (!error) std::filesystem::rename(file, target, error);
    if (error) return tl::unexpected(failure(target, "cannot be moved into place", error));
    folders.insert(target.parent_path());
  }
  return flush_to_disk({folders.begin(), folders.end()});
}

} // namespace tik::ir
