#include "tests/kill/traced_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace tik::kill {
namespace {

namespace fs = std::filesystem;

std::string path_of_descriptor(pid_t process, std::uint64_t descriptor) {
  std::error_code error;
  return fs::read_symlink(fmt::format("/proc/{}/fd/{}", process, static_cast<int>(descriptor)), error).string();
}

std::string path_at(pid_t process, std::uint64_t address) {
  std::array<char, 4096> text{};
  // Not across the end of a page: the next one may not be there.
  std::size_t const size = text.size() - address % text.size();
  iovec const here{text.data(), size}, there{reinterpret_cast<void*>(address), size};
  ssize_t const got = process_vm_readv(process, &here, 1, &there, 1, 0);
  return got > 0 ? std::string(text.data(), strnlen(text.data(), static_cast<std::size_t>(got))) : std::string();
}

// The file that the call changes, if it is one that changes files.
std::string written_path(pid_t process, __ptrace_syscall_info const& call) {
  auto const& arguments = call.entry.args;
  switch (call.entry.nr) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ftruncate:
    case SYS_fallocate:
      return path_of_descriptor(process, arguments[0]);
    case SYS_open:
      return (arguments[1] & O_CREAT) != 0 ? path_at(process, arguments[0]) : "";
    case SYS_openat:
      return (arguments[2] & O_CREAT) != 0 ? path_at(process, arguments[1]) : "";
    case SYS_rename:
      return path_at(process, arguments[1]);
    case SYS_link:
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_rmdir:
      return path_at(process, arguments[0]);
    case SYS_renameat:
    case SYS_renameat2:
      return path_at(process, arguments[3]);
    case SYS_linkat:
    case SYS_unlinkat:
    case SYS_mkdirat:
      return path_at(process, arguments[1]);
    default:
      return "";
  }
}

} // namespace

std::string part_written(pid_t process, __ptrace_syscall_info const& call, fs::path const& search) {
  std::string const path = written_path(process, call);
  if (!path.starts_with(search.string())) return {};
  std::string const inside = path.substr(search.string().size());
  if (inside.starts_with("/search.db")) return "database";
  if (inside.starts_with("/sources.git")) return "sources";
  return inside == "/lock" ? "lock" : "";
}

} // namespace tik::kill
