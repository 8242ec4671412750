#include "src/evaluator/source_tree.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/files.h"
#include "src/base/sha256.h"
#include "src/evaluator/evaluator.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_tree = std::uintmax_t{64} << 20; // bytes
constexpr std::size_t most_files = 4096;

// Plain files below `folder`, relative and sorted by their bytes.
Result<std::vector<fs::path>> list_files(fs::path const& folder) {
  std::vector<fs::path> files;
  std::uintmax_t bytes = 0;
  std::error_code problem;
  fs::recursive_directory_iterator entry(folder, problem), end;
  if (problem) return input_error(fmt::format("{}: is no folder that can be read: {}.", folder.string(), problem.message()));
  for (; entry != end; entry.increment(problem)) {
    if (problem) return input_error(fmt::format("{}: cannot be read: {}.", folder.string(), problem.message()));
    struct stat found {};
    if (lstat(entry->path().c_str(), &found) != 0) return input_error(entry->path().string() + ": cannot be read.");
    if (S_ISDIR(found.st_mode)) continue;
    if (!S_ISREG(found.st_mode)) {
      return input_error(
          fmt::format("{}: is a {}: a source tree holds plain files and folders only. Replace it by its content.",
                      entry->path().string(), S_ISLNK(found.st_mode) ? "symbolic link" : "special file"));
    }
    bytes += static_cast<std::uintmax_t>(found.st_size);
    files.push_back(entry->path().lexically_relative(folder));
    if (bytes > largest_tree || files.size() > most_files) {
      return input_error(fmt::format("{}: holds more than {} MiB or {} files, too much for a source tree.", folder.string(),
                                     largest_tree >> 20, most_files));
    }
  }
  std::sort(files.begin(), files.end(), [](fs::path const& a, fs::path const& b) { return a.native() < b.native(); });
  return files;
}

} // namespace

Result<void> copy_source_tree(fs::path const& from, fs::path const& to) {
  TIK_TRY(std::vector<fs::path> const files, list_files(from));
  for (fs::path const& file : files) {
    TIK_TRY(std::string const content, read_file(from / file));
    std::error_code problem;
    fs::create_directories((to / file).parent_path(), problem);
    TIK_CHECK(write_file(to / file, content));
    chmod((to / file).c_str(), 0644);
  }
  return {};
}

Result<std::string> hash_source_tree(fs::path const& folder) {
  TIK_TRY(std::vector<fs::path> const files, list_files(folder));
  std::string text;
  for (fs::path const& file : files) {
    TIK_TRY(std::string const content, read_file(folder / file));
    text += fmt::format("{} {} {}\n", sha256_hex(file.native()), content.size(), sha256_hex(content));
  }
  return sha256_hex(text);
}

} // namespace tik::evaluator
