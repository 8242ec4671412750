#include "src/search/writer_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tik::search {

Result<WriterLock> WriterLock::acquire(std::filesystem::path const& file) {
  int const descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return machine_error(fmt::format("{}: cannot be opened for writing: {}; a search needs a folder it may write to.",
                                     file.string(), std::strerror(errno)));
  WriterLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return machine_error(fmt::format("{}: cannot be locked: {}.", file.string(), std::strerror(errno)));
    char holder[32] = {};
    ssize_t const size = pread(descriptor, holder, sizeof holder - 1, 0);
    return input_error(fmt::format("{}: the search is in use by process {}; wait until it ends or stop it.",
                                   file.parent_path().string(), size > 0 ? holder : "(unknown)"));
  }
  std::string const own = std::to_string(getpid());
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, own.data(), own.size(), 0) != static_cast<ssize_t>(own.size()))
    return machine_error(fmt::format("{}: cannot be written: {}.", file.string(), std::strerror(errno)));
  return lock;
}

WriterLock::WriterLock(WriterLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

WriterLock::~WriterLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

} // namespace tik::search
