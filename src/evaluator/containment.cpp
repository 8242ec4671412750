#include "src/evaluator/containment.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;

bool write_whole(char const* file, std::string const& text) {
  int const descriptor = open(file, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  bool const written = write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  int const error = errno;
  close(descriptor);
  errno = error;
  return written;
}

// Restricts a mount and all below it; flags are only added, so this is allowed in a user namespace too.
bool restrict_mount(char const* target, std::uint64_t attributes) {
  mount_attr change{};
  change.attr_set = attributes;
  return mount_setattr(AT_FDCWD, target, AT_RECURSIVE, &change, sizeof change) == 0;
}

Step make_folders(fs::path const& root, std::string const& inside) {
  fs::path path = root;
  for (fs::path const& part : fs::path(inside).relative_path()) {
    path /= part;
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return step_failed("making the folder " + path.string());
  }
  return {};
}

Step bind_to(fs::path const& host, fs::path const& root, std::string const& inside, bool folder, std::uint64_t attributes) {
  fs::path const target = root / fs::path(inside).relative_path();
  if (folder) {
    TIK_CHECK(make_folders(root, inside));
  } else {
    TIK_CHECK(make_folders(root, fs::path(inside).parent_path().string()));
    int const descriptor = open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) return step_failed("making " + inside);
    close(descriptor);
  }
  if (mount(host.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return step_failed("binding " + host.string() + " to " + inside);
  }
  if (!restrict_mount(target.c_str(), attributes)) return step_failed("restricting " + inside);
  return {};
}

// The folders and files of the system that a compiler and a shared library need; what is missing on this machine is left out.
Step bind_system(fs::path const& root) {
  constexpr std::uint64_t read_only = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  for (char const* name : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    struct stat found {};
    if (lstat(name, &found) != 0) continue;
    if (S_ISLNK(found.st_mode)) {
      char target[4096];
      ssize_t const length = readlink(name, target, sizeof target - 1);
      if (length < 0) return step_failed(std::string("reading the link ") + name);
      target[length] = 0;
      fs::path const link = root / fs::path(name).relative_path();
      if (symlink(target, link.c_str()) != 0) return step_failed(std::string("linking ") + name);
    } else {
      TIK_CHECK(bind_to(name, root, name, true, read_only));
    }
  }
  for (char const* name : {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"}) {
    struct stat found {};
    if (stat(name, &found) == 0) TIK_CHECK(bind_to(name, root, name, S_ISDIR(found.st_mode), read_only));
  }
  for (char const* name : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    struct stat found {};
    if (stat(name, &found) == 0) TIK_CHECK(bind_to(name, root, name, false, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  }
  return {};
}

// The devices of NVIDIA GPUs, what the driver reads of the system, shared memory of its own, and, without a process namespace
// that brings its own, /proc.
Step bind_gpu(fs::path const& root, bool own_process_files) {
  std::error_code ignored;
  for (fs::directory_entry const& entry : fs::directory_iterator("/dev", ignored)) {
    std::string const name = entry.path().string();
    if (!name.starts_with("/dev/nvidia")) continue;
    TIK_CHECK(bind_to(name, root, name, entry.is_directory(ignored), MOUNT_ATTR_NOSUID));
  }
  TIK_CHECK(make_folders(root, "/dev/shm"));
  if (mount("tmpfs", (root / "dev/shm").c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64m") != 0) {
    return step_failed("mounting shared memory");
  }
  if (fs::exists("/sys/bus", ignored)) {
    TIK_CHECK(
        bind_to("/sys", root, "/sys", true, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  }
  if (!own_process_files)
    TIK_CHECK(bind_to("/proc", root, "/proc", true, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  return {};
}

bool set_limit(__rlimit_resource resource, rlim_t value) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return false;
  rlim_t const bound = std::min(value, limit.rlim_max);
  limit = {bound, bound};
  return setrlimit(resource, &limit) == 0;
}

} // namespace

Step enter_namespaces(Layers const& layers) {
  int flags = 0;
  if (layers.user_namespace) flags |= CLONE_NEWUSER;
  if (layers.mount_namespace) flags |= CLONE_NEWNS;
  if (layers.pid_namespace) flags |= CLONE_NEWPID;
  if (layers.network_namespace) flags |= CLONE_NEWNET;
  if (layers.ipc_namespace) flags |= CLONE_NEWIPC | CLONE_NEWUTS;
  if (flags == 0) return {};
  uid_t const user = geteuid();
  gid_t const group = getegid();
  if (unshare(flags) != 0) return step_failed("leaving the namespaces of the host");
  if (layers.user_namespace) {
    write_whole("/proc/self/setgroups", "deny"); // absent on old kernels
    if (!write_whole("/proc/self/uid_map", std::to_string(user) + " " + std::to_string(user) + " 1")) {
      return step_failed("mapping the user id");
    }
    if (!write_whole("/proc/self/gid_map", std::to_string(group) + " " + std::to_string(group) + " 1")) {
      return step_failed("mapping the group id");
    }
  }
  return {};
}

Step enter_file_system(ChildPlan const& plan) {
  char const* const root = plan.staging.c_str();
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return step_failed("making mounts private");
  if (mount("tmpfs", root, "tmpfs", MS_NOSUID, "mode=755,size=1m") != 0) return step_failed("mounting the new root");
  TIK_CHECK(bind_system(plan.staging));
  if (plan.gpu != GpuUse::none) TIK_CHECK(bind_gpu(plan.staging, plan.layers.pid_namespace));
  for (char const* name : {"/tmp", "/proc"}) TIK_CHECK(make_folders(plan.staging, name));
  std::string const size = "mode=1777,size=" + std::to_string(std::max<std::int64_t>(plan.file_mb, 16) * 2) + "m";
  if (mount("tmpfs", (plan.staging / "tmp").c_str(), "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()) != 0) {
    return step_failed("mounting a private /tmp");
  }
  for (Mount const& folder : plan.mounts) {
    std::uint64_t const attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (folder.writable ? 0 : MOUNT_ATTR_RDONLY);
    TIK_CHECK(bind_to(folder.host, plan.staging, folder.inside, true, attributes));
  }
  if (chdir(root) != 0) return step_failed("entering the new root");
  if (syscall(SYS_pivot_root, ".", ".") != 0) return step_failed("changing the root");
  if (umount2(".", MNT_DETACH) != 0) return step_failed("leaving the old root");
  if (chdir("/") != 0) return step_failed("entering the new root");
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_RDONLY;
  if (mount_setattr(AT_FDCWD, "/", 0, &change, sizeof change) != 0) return step_failed("making the new root read-only");
  return {};
}

void mount_process_files() { mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr); }

Step set_limits(ChildPlan const& plan) {
  bool set = set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_NOFILE, 256);
  if (plan.cpu_seconds > 0) set = set && set_limit(RLIMIT_CPU, static_cast<rlim_t>(std::ceil(plan.cpu_seconds)));
  if (plan.file_mb > 0) set = set && set_limit(RLIMIT_FSIZE, static_cast<rlim_t>(plan.file_mb) << 20);
  // Without a user or a namespace of its own the count would include every other process of the caller.
  bool const counted_apart = plan.layers.separate_user || plan.layers.user_namespace;
  if (plan.processes > 0 && counted_apart) set = set && set_limit(RLIMIT_NPROC, static_cast<rlim_t>(plan.processes));
  if (!set) return step_failed("setting the resource limits");
  return {};
}

Step limit_memory(ChildPlan const& plan) {
  if (!plan.memory_mb || set_limit(RLIMIT_AS, static_cast<rlim_t>(*plan.memory_mb) << 20)) return {};
  return step_failed("setting the memory limit");
}

Step drop_privileges(ChildPlan const& plan) {
  if (plan.layers.separate_user) {
    if (setgroups(0, nullptr) != 0) return step_failed("leaving the groups");
    if (setresgid(plan.user, plan.user, plan.user) != 0) return step_failed("changing the group id");
    if (setresuid(plan.user, plan.user, plan.user) != 0) return step_failed("changing the user id");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) return step_failed("dropping the capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return step_failed("refusing new privileges");
  return {};
}

} // namespace tik::evaluator
