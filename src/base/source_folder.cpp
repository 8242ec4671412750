#include "src/base/source_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "src/base/sha256.h"

namespace tik {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor const&) = delete;
  Descriptor& operator=(Descriptor const&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Length of the UTF-8 sequence at the start of `text`, 0 when it is none (overlong forms and surrogates are none).
std::size_t utf8_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto const continues = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  unsigned const first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    bool const overlong = first == 0xe0 && byte(1) < 0xa0;
    bool const surrogate = first == 0xed && byte(1) > 0x9f;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    bool const overlong = first == 0xf0 && byte(1) < 0x90;
    bool const beyond = first == 0xf4 && byte(1) > 0x8f;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

// A name as a sentence may show it.
std::string shown(std::string_view name) {
  std::string result;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t const length = utf8_length(name.substr(at));
    auto const byte = static_cast<unsigned char>(name[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
      ++at;
    } else {
      result += name.substr(at, length);
      at += length;
    }
  }
  return result;
}

class FolderReader {
 public:
  explicit FolderReader(std::filesystem::path const& folder) : folder_(folder) {}

  // Names of the folders below, in the order in which they were found.
  std::vector<std::string> const& folders() const { return folders_; }

  Result<std::vector<SourceFile>> read() {
    Descriptor root(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root.number() < 0)
      return input_error(fmt::format("{}: cannot be read as a folder: {}.", folder_.string(), std::strerror(errno)));
    TIK_CHECK(read_folder(root.release(), "", 0));
    std::sort(files_.begin(), files_.end(), [](SourceFile const& a, SourceFile const& b) { return a.name < b.name; });
    return std::move(files_);
  }

 private:
  tl::unexpected<Error> refuse(std::string_view name, std::string_view sentence) const {
    return input_error(fmt::format("{}: '{}' {}", folder_.string(), shown(name), sentence));
  }

  // Takes the descriptor over.
  Result<void> read_folder(int descriptor, std::string const& prefix, int depth) {
    std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(descriptor), closedir);
    if (!folder) {
      close(descriptor);
      return refuse(prefix, fmt::format("cannot be listed: {}.", std::strerror(errno)));
    }
    if (depth > deepest_source_folder) return refuse(prefix, "lies too deep: flatten the folders.");
    for (;;) {
      errno = 0;
      auto const* entry = readdir(folder.get());
      if (entry == nullptr && errno != 0) return refuse(prefix, fmt::format("cannot be listed: {}.", std::strerror(errno)));
      if (entry == nullptr) return {};
      std::string_view const name = entry->d_name;
      if (name != "." && name != "..") TIK_CHECK(read_entry(dirfd(folder.get()), prefix, name, depth));
    }
  }

  Result<void> read_entry(int parent, std::string const& prefix, std::string_view entry_name, int depth) {
    auto const name = prefix.empty() ? std::string(entry_name) : prefix + "/" + std::string(entry_name);
    if (auto const reason = bad_source_name(entry_name); !reason.empty()) return refuse(name, reason);
    struct stat status {};
    if (fstatat(parent, std::string(entry_name).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return refuse(name, fmt::format("cannot be examined: {}.", std::strerror(errno)));
    if (S_ISLNK(status.st_mode)) return refuse(name, "is a symbolic link: put the file itself there.");
    bool const is_folder = S_ISDIR(status.st_mode);
    if (!is_folder && !S_ISREG(status.st_mode)) return refuse(name, "is neither a regular file nor a folder: remove it.");
    // O_NOFOLLOW and a second look: the entry may have been exchanged meanwhile.
    Descriptor opened(openat(parent, std::string(entry_name).c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (is_folder ? O_DIRECTORY : 0)));
    if (opened.number() < 0) return refuse(name, fmt::format("cannot be read: {}.", std::strerror(errno)));
    if (is_folder) {
      folders_.push_back(name);
      return read_folder(opened.release(), name, depth + 1);
    }
    return read_content(opened.number(), name);
  }

  Result<void> read_content(int descriptor, std::string const& name) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
      return refuse(name, "is no regular file any more: try again.");
    if (files_.size() == most_source_files)
      return refuse(name, fmt::format("is one file too many: a source tree has at most {}.", most_source_files));
    SourceFile file{.name = name, .content = {}, .executable = (status.st_mode & S_IXUSR) != 0};
    char buffer[65536];
    for (;;) {
      ssize_t const count = ::read(descriptor, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return refuse(name, fmt::format("cannot be read: {}.", std::strerror(errno)));
      if (count == 0) break;
      bytes_ += static_cast<std::size_t>(count);
      if (bytes_ > largest_source_bytes)
        return refuse(name,
                      fmt::format("makes the source tree larger than {} bytes: keep data out of it.", largest_source_bytes));
      file.content.append(buffer, static_cast<std::size_t>(count));
    }
    files_.push_back(std::move(file));
    return {};
  }

  std::filesystem::path const& folder_;
  std::vector<SourceFile> files_;
  std::vector<std::string> folders_;
  std::size_t bytes_ = 0;
};

Result<void> write_source_file(std::filesystem::path const& folder, SourceFile const& file) {
  auto const path = folder / file.name;
  auto const fail = [&] {
    return machine_error(fmt::format("{}: cannot be written: {}.", path.string(), std::strerror(errno)));
  };
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return machine_error(fmt::format("{}: cannot be created: {}.", path.parent_path().string(), error.message()));
  Descriptor opened(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file.executable ? 0755 : 0644));
  if (opened.number() < 0) return fail();
  // Whatever the umask says: another user may have to read the tree, for example one that only builds it.
  if (fchmod(opened.number(), file.executable ? 0755 : 0644) != 0) return fail();
  std::string_view rest = file.content;
  while (!rest.empty()) {
    ssize_t const count = ::write(opened.number(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail();
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

// Whether a folder of source files alone could be changed file by file into these ones: making one anew costs many times as
// much as the one file that differs from one implementation to the next.
bool exchange_files(std::filesystem::path const& folder, std::vector<SourceFile> const& files) {
  std::error_code error;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(folder, error))) return false;
  FolderReader reader(folder);
  auto const present = reader.read();
  if (!present || !reader.folders().empty()) return false;
  std::map<std::string_view, SourceFile const*> wanted;
  for (auto const& file : files) wanted[file.name] = &file;
  for (auto const& old : *present) {
    auto const found = wanted.find(old.name);
    if (found != wanted.end() && found->second->content == old.content && found->second->executable == old.executable) {
      wanted.erase(found);
    } else if (!std::filesystem::remove(folder / old.name, error)) {
      return false;
    }
  }
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](auto const& entry) { return write_source_file(folder, *entry.second).has_value(); });
}

} // namespace

std::string_view bad_source_name(std::string_view name) {
  if (name.empty() || name == "." || name == "..") return "is no name of a file: rename it.";
  for (std::size_t at = 0; at < name.size();) {
    std::size_t const length = utf8_length(name.substr(at));
    if (length == 0) return "is not UTF-8: rename it.";
    auto const byte = static_cast<unsigned char>(name[at]);
    if (byte < 0x20 || byte == 0x7f) return "holds a control character: rename it.";
    if (byte == '/' || byte == '\\') return "holds a slash or backslash: rename it.";
    at += length;
  }
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == ".git") return "is a name that git keeps for itself: remove it.";
  return {};
}

std::string hash_source_digests(std::vector<SourceDigest> digests) {
  std::sort(digests.begin(), digests.end(), [](SourceDigest const& a, SourceDigest const& b) { return a.name < b.name; });
  std::string text;
  for (auto const& digest : digests)
    text += fmt::format("{} {} {}\n", sha256_hex(digest.name), digest.bytes, digest.content_sha256);
  return sha256_hex(text);
}

std::string hash_source_files(std::vector<SourceFile> const& files) {
  std::vector<SourceDigest> digests;
  digests.reserve(files.size());
  for (auto const& file : files) digests.push_back({file.name, file.content.size(), sha256_hex(file.content)});
  return hash_source_digests(std::move(digests));
}

Result<std::vector<SourceFile>> read_source_folder(std::filesystem::path const& folder) { return FolderReader(folder).read(); }

Result<void> write_source_folder(std::filesystem::path const& folder, std::vector<SourceFile> const& files,
                                 OldContent old_content) {
  std::error_code error;
  if (old_content == OldContent::replace) {
    if (exchange_files(folder, files)) return {};
    std::filesystem::remove_all(folder, error);
    if (error) return machine_error(fmt::format("{}: cannot be removed: {}.", folder.string(), error.message()));
  }
  std::filesystem::create_directories(folder, error);
  if (error) return machine_error(fmt::format("{}: cannot be created: {}.", folder.string(), error.message()));
  bool const empty = std::filesystem::is_empty(folder, error);
  if (error) return machine_error(fmt::format("{}: cannot be listed: {}.", folder.string(), error.message()));
  if (!empty) return input_error(fmt::format("{}: is not empty: name a new folder.", folder.string()));
  for (auto const& file : files) TIK_CHECK(write_source_file(folder, file));
  return {};
}

} // namespace tik
