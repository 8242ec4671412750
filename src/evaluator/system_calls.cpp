// The seccomp filters of a build and of a worker.
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string_view>

#include "src/evaluator/containment.h"

namespace tik::evaluator {
namespace {

// Collects rules; a call that this machine's kernel or libseccomp does not know needs no rule.
class Filter {
 public:
  explicit Filter(std::uint32_t otherwise) : context_(seccomp_init(otherwise), seccomp_release) {}
  explicit operator bool() const { return context_ != nullptr; }

  void add(std::uint32_t action, std::initializer_list<char const*> names) {
    for (char const* name : names) add(action, name, {});
  }
  void add(std::uint32_t action, char const* name, std::initializer_list<scmp_arg_cmp> conditions) {
    int const number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) return;
    seccomp_rule_add_array(context_.get(), action, number, static_cast<unsigned>(conditions.size()), conditions.begin());
  }
  Step load() {
    int const result = seccomp_load(context_.get());
    if (result == 0) return {};
    errno = -result;
    return step_failed("installing the system call filter");
  }

 private:
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
};

// What neither a compiler nor an operator has any business with.
constexpr std::initializer_list<char const*> forbidden = {"socket",
                                                          "socketpair",
                                                          "connect",
                                                          "bind",
                                                          "listen",
                                                          "accept",
                                                          "accept4",
                                                          "ptrace",
                                                          "process_vm_readv",
                                                          "process_vm_writev",
                                                          "bpf",
                                                          "perf_event_open",
                                                          "userfaultfd",
                                                          "io_uring_setup",
                                                          "io_uring_enter",
                                                          "io_uring_register",
                                                          "keyctl",
                                                          "add_key",
                                                          "request_key",
                                                          "mount",
                                                          "umount2",
                                                          "mount_setattr",
                                                          "move_mount",
                                                          "open_tree",
                                                          "fsopen",
                                                          "fsmount",
                                                          "pivot_root",
                                                          "chroot",
                                                          "setns",
                                                          "unshare",
                                                          "init_module",
                                                          "finit_module",
                                                          "delete_module",
                                                          "kexec_load",
                                                          "kexec_file_load",
                                                          "open_by_handle_at",
                                                          "name_to_handle_at",
                                                          "pidfd_getfd",
                                                          "pidfd_open",
                                                          "reboot",
                                                          "swapon",
                                                          "swapoff",
                                                          "shmget",
                                                          "shmat",
                                                          "shmctl",
                                                          "msgget",
                                                          "semget",
                                                          "mq_open",
                                                          "acct",
                                                          "quotactl",
                                                          "lookup_dcookie",
                                                          "personality",
                                                          "kcmp",
                                                          "syslog",
                                                          "clock_settime",
                                                          "settimeofday"};

void close_namespaces(Filter& filter) {
  for (std::uint64_t const flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWCGROUP}) {
    filter.add(SCMP_ACT_ERRNO(EPERM), "clone", {SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)});
  }
  filter.add(SCMP_ACT_ERRNO(ENOSYS), "clone3", {}); // its flags lie in memory; the C library falls back to clone
}

// A compiler may do anything else; what is refused fails with EPERM, and namespaces stay closed.
Step filter_build() {
  Filter filter(SCMP_ACT_ALLOW);
  if (!filter) return step_failed("making the system call filter");
  filter.add(SCMP_ACT_ERRNO(EPERM), forbidden);
  close_namespaces(filter);
  return filter.load();
}

// An operator computes: it may use memory, read files (shared libraries it needs), and look at the clock. Whoever makes a
// thread or a process, opens a socket or a file to write, touches another process, or waits is ended on the spot, so that the
// attempt is seen. With one thread that cannot wait, processor time is the latency that a processor of its own would show.
Step filter_worker() {
  Filter filter(SCMP_ACT_ERRNO(EPERM));
  if (!filter) return step_failed("making the system call filter");
  filter.add(SCMP_ACT_ALLOW, {"read",
                              "readv",
                              "pread64",
                              "write",
                              "writev",
                              "close",
                              "fstat",
                              "newfstatat",
                              "stat",
                              "lstat",
                              "lseek",
                              "access",
                              "faccessat",
                              "faccessat2",
                              "readlink",
                              "readlinkat",
                              "getcwd",
                              "mmap",
                              "munmap",
                              "mprotect",
                              "mremap",
                              "madvise",
                              "brk",
                              "set_robust_list",
                              "get_robust_list",
                              "rseq",
                              "rt_sigaction",
                              "rt_sigprocmask",
                              "rt_sigreturn",
                              "sigaltstack",
                              "gettid",
                              "getpid",
                              "getppid",
                              "getuid",
                              "geteuid",
                              "getgid",
                              "getegid",
                              "sched_getaffinity",
                              "clock_gettime",
                              "clock_getres",
                              "gettimeofday",
                              "time",
                              "exit",
                              "exit_group",
                              "getrandom",
                              "getrusage",
                              "times",
                              "sysinfo",
                              "uname",
                              "recvmsg",
                              "recvfrom",
                              "sendmsg",
                              "sendto",
                              "arch_prctl",
                              "restart_syscall",
                              "getcpu",
                              "get_mempolicy"});
  filter.add(SCMP_ACT_ALLOW, "prlimit64", {SCMP_A2(SCMP_CMP_EQ, 0)});
  for (char const* name : {"tgkill", "tkill"}) {
    filter.add(SCMP_ACT_ALLOW, name, {SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(getpid()))});
  }
  constexpr scmp_datum_t futex_operation = 0x7f, futex_wake = 1; // the end of a std::call_once; nobody waits
  filter.add(SCMP_ACT_ALLOW, "futex", {SCMP_A1(SCMP_CMP_MASKED_EQ, futex_operation, futex_wake)});
  constexpr scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC;
  filter.add(SCMP_ACT_ALLOW, "openat", {SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY)});
  filter.add(SCMP_ACT_ALLOW, "open", {SCMP_A1(SCMP_CMP_MASKED_EQ, writing, O_RDONLY)});
  for (scmp_datum_t const flag : {O_WRONLY, O_RDWR, O_CREAT}) {
    filter.add(SCMP_ACT_KILL_PROCESS, "openat", {SCMP_A2(SCMP_CMP_MASKED_EQ, flag, flag)});
    filter.add(SCMP_ACT_KILL_PROCESS, "open", {SCMP_A1(SCMP_CMP_MASKED_EQ, flag, flag)});
  }
  filter.add(SCMP_ACT_KILL_PROCESS, forbidden);
  filter.add(SCMP_ACT_KILL_PROCESS, {"clone",
                                     "clone3",
                                     "fork",
                                     "vfork",
                                     "execve",
                                     "execveat",
                                     "kill",
                                     "pidfd_send_signal",
                                     "memfd_create",
                                     "memfd_secret",
                                     "nanosleep",
                                     "clock_nanosleep",
                                     "pause",
                                     "sched_yield",
                                     "poll",
                                     "ppoll",
                                     "select",
                                     "pselect6",
                                     "epoll_wait",
                                     "epoll_pwait",
                                     "rt_sigtimedwait",
                                     "creat",
                                     "setpriority",
                                     "sched_setaffinity",
                                     "sched_setscheduler",
                                     "timer_create",
                                     "setitimer",
                                     "alarm"});
  return filter.load();
}

// The driver opens a local socket for other processes to come to; nobody can come.
constexpr std::string_view local_sockets[] = {"socket", "socketpair", "bind", "listen", "accept", "accept4"};
bool is_local_socket(std::string_view name) {
  return std::find(std::begin(local_sockets), std::end(local_sockets), name) != std::end(local_sockets);
}

// The driver of a GPU makes threads, opens devices and waits, so less can be refused than on the CPU: no process, no program,
// no socket, no other process's memory. What is refused fails with EPERM: the driver itself tries some of it and goes on
// without.
Step filter_gpu_worker() {
  Filter filter(SCMP_ACT_ALLOW);
  if (!filter) return step_failed("making the system call filter");
  for (char const* name : forbidden) {
    if (!is_local_socket(name)) filter.add(SCMP_ACT_ERRNO(EPERM), {name});
  }
  filter.add(SCMP_ACT_ERRNO(EPERM), "socket", {SCMP_A0(SCMP_CMP_NE, AF_UNIX)});
  filter.add(SCMP_ACT_ERRNO(EPERM),
             {"fork", "vfork", "execve", "execveat", "kill", "pidfd_send_signal", "setpriority", "sched_setscheduler"});
  filter.add(SCMP_ACT_ERRNO(EPERM), "clone", {SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)});
  filter.add(SCMP_ACT_ERRNO(ENOSYS), "clone3", {}); // its flags lie in memory; the C library falls back to clone
  return filter.load();
}

// A profiler starts what it profiles, and they speak to each other through local sockets.
Step filter_profiler() {
  Filter filter(SCMP_ACT_ALLOW);
  if (!filter) return step_failed("making the system call filter");
  for (char const* name : forbidden) {
    if (!is_local_socket(name) && std::string_view(name) != "connect") filter.add(SCMP_ACT_ERRNO(EPERM), {name});
  }
  filter.add(SCMP_ACT_ERRNO(EPERM), "socket", {SCMP_A0(SCMP_CMP_NE, AF_UNIX)});
  close_namespaces(filter);
  return filter.load();
}

} // namespace

Step filter_system_calls(CallFilter filter) {
  switch (filter) {
    case CallFilter::none:
      return {};
    case CallFilter::build:
      return filter_build();
    case CallFilter::worker:
      return filter_worker();
    case CallFilter::gpu_worker:
      return filter_gpu_worker();
    case CallFilter::profiler:
      return filter_profiler();
  }
  return {};
}

} // namespace tik::evaluator
