// Which system calls of a traced process change what a search keeps.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>

#include <filesystem>
#include <string>

namespace tik::kill {

// For a process that stands before a system call: "database", "sources" or "lock" when the call writes to, flushes, creates,
// renames or removes something of that part of the search; nothing otherwise.
std::string part_written(pid_t process, __ptrace_syscall_info const& call, std::filesystem::path const& search);

} // namespace tik::kill
