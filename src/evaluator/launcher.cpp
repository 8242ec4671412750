#include "src/evaluator/launcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/evaluator/containment.h"
#include "src/evaluator/worker.h"

namespace tik::evaluator {
namespace {

void report(LauncherStatus::Kind kind, int value, std::string const& step = {}) {
  LauncherStatus status{kind, value, {}};
  std::strncpy(status.step, step.c_str(), sizeof status.step - 1);
  [[maybe_unused]] ssize_t const written = write(status_descriptor, &status, sizeof status);
}

[[noreturn]] void give_up(StepFailure const& failure) {
  report(LauncherStatus::failed, failure.error, failure.step);
  _exit(127);
}

std::optional<ChildPlan> read_plan() {
  std::string bytes;
  char buffer[4096];
  for (;;) {
    ssize_t const count = pread(plan_descriptor, buffer, sizeof buffer, static_cast<off_t>(bytes.size()));
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  Result<ChildPlan> plan = decode_plan(bytes);
  if (!plan) return std::nullopt;
  return std::move(*plan);
}

// Everything that happens in the contained process itself before its first own instruction.
Step prepare_target(ChildPlan const& plan) {
  setsid();
  if (chdir(plan.working_directory.c_str()) != 0) return step_failed("entering the folder " + plan.working_directory);
  TIK_CHECK(drop_privileges(plan));
  // Changing the user clears the wish to die with the parent, so it is made after it.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return step_failed("tying the process to its parent");
  TIK_CHECK(set_limits(plan));
  // The filter of a worker leaves no way to set a limit; a command gets this one just before it starts.
  if (plan.command.empty()) TIK_CHECK(limit_memory(plan));
  if (plan.layers.system_call_filter) TIK_CHECK(filter_system_calls(plan.filter));
  return {};
}

std::vector<char*> pointers(std::vector<std::string>& values) {
  std::vector<char*> result;
  for (std::string& value : values) result.push_back(value.data());
  result.push_back(nullptr);
  return result;
}

// Which GPU the driver shows; its numbers are those of nvidia-smi.
constexpr char device_order[] = "CUDA_DEVICE_ORDER", by_bus[] = "PCI_BUS_ID", visible_devices[] = "CUDA_VISIBLE_DEVICES";

int run_own(ChildPlan const& plan) {
  setenv(device_order, by_bus, 1);
  setenv(visible_devices, std::to_string(plan.gpu_number).c_str(), 1);
  switch (plan.gpu) {
    case GpuUse::none:
    case GpuUse::command:
      return serve_requests();
    case GpuUse::serve:
      return serve_device_requests();
    case GpuUse::probe:
      return try_device();
  }
  return 1;
}

[[noreturn]] void run_target(ChildPlan plan) {
  if (Step const prepared = prepare_target(plan); !prepared) give_up(prepared.error());
  report(LauncherStatus::running, 0);
  if (plan.command.empty()) {
    close(plan_descriptor);
    close(stop_descriptor);
    close(status_descriptor);
    _exit(run_own(plan));
  }
  for (int const descriptor : {plan_descriptor, stop_descriptor, status_descriptor}) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  std::vector<char*> const arguments = pointers(plan.command);
  if (plan.gpu != GpuUse::none) {
    plan.environment.push_back(std::string(device_order) + "=" + by_bus);
    plan.environment.push_back(visible_devices + ("=" + std::to_string(plan.gpu_number)));
  }
  std::vector<char*> const environment = pointers(plan.environment);
  for (std::string const& entry : plan.environment) {
    if (entry.starts_with("PATH=")) setenv("PATH", entry.c_str() + 5, 1);
  }
  if (Step const limited = limit_memory(plan); !limited) give_up(limited.error());
  execvpe(arguments[0], arguments.data(), environment.data());
  give_up({"starting " + plan.command[0], errno});
}

// The parent of a process by /proc, opened before the file system changed; 0 when it is gone.
pid_t parent_of(int process_files, pid_t process) {
  int const file = openat(process_files, (std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[512];
  ssize_t const count = read(file, text, sizeof text);
  close(file);
  std::string_view const stat(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  std::size_t const name_end = stat.rfind(')'); // "PID (NAME) STATE PARENT ..."
  if (name_end == std::string_view::npos || name_end + 4 >= stat.size()) return 0;
  return static_cast<pid_t>(std::atoi(std::string(stat.substr(name_end + 4)).c_str()));
}

bool is_descendant(int process_files, pid_t process) {
  pid_t const self = getpid();
  for (int depth = 0; depth < 256 && process > 1; ++depth) {
    process = parent_of(process_files, process);
    if (process == self) return true;
  }
  return false;
}

constexpr int watch_milliseconds = 5;

// By /proc; none when the process is gone.
std::int64_t resident_bytes(int process_files, pid_t process) {
  int const file = openat(process_files, (std::to_string(process) + "/statm").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128] = {};
  [[maybe_unused]] ssize_t const count = read(file, text, sizeof text - 1);
  close(file);
  long long pages = 0; // "SIZE RESIDENT ..."
  return std::sscanf(text, "%*s %lld", &pages) == 1 ? pages * sysconf(_SC_PAGESIZE) : 0;
}

// Calls `visit` with the contained processes: what is in the process namespace beside its first, or what descends from this
// one.
void for_each_contained(int process_files, ChildPlan const& plan, std::function<void(pid_t)> const& visit) {
  DIR* const all = fdopendir(openat(process_files, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (dirent const* entry = all == nullptr ? nullptr : readdir(all)) {
    pid_t const process = static_cast<pid_t>(std::atoi(entry->d_name));
    if (process > 1 && (plan.layers.pid_namespace || is_descendant(process_files, process))) visit(process);
  }
  if (all != nullptr) closedir(all);
}

// Kills the target when it has outgrown its limit, with all that it started, or cannot be watched. It is not collected yet, so
// its number is its own.
void stop_outgrown(int process_files, pid_t target, ChildPlan const& plan) {
  std::int64_t resident = 0;
  bool seen = false;
  for_each_contained(process_files, plan, [&](pid_t process) {
    seen = true;
    resident += resident_bytes(process_files, process);
  });
  if (seen && resident <= *plan.resident_mb << 20) return;
  kill(target, SIGKILL);
  if (seen) {
    report(LauncherStatus::outgrown, static_cast<int>(*plan.resident_mb));
  } else {
    report(LauncherStatus::failed, errno, "watching the memory of the process");
  }
}

// The first process of a process namespace: waits for the target, collects orphans, and by ending takes everything with it.
[[noreturn]] void run_first_process(ChildPlan const& plan) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_DUMPABLE, 0);
  if (plan.layers.mount_namespace && (!plan.command.empty() || plan.gpu != GpuUse::none)) mount_process_files();
  pid_t const target = fork();
  if (target < 0) give_up({"starting the process", errno});
  if (target == 0) run_target(plan);
  for (int const descriptor : {socket_descriptor, input_descriptor, output_descriptor}) close(descriptor);
  int const process_files = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (;;) {
    int status = 0;
    pid_t const ended = waitpid(-1, &status, plan.resident_mb ? WNOHANG : 0);
    if (ended == target) {
      report(LauncherStatus::ended, status);
      _exit(0);
    }
    if (ended < 0 && errno != EINTR) _exit(126);
    if (ended != 0) continue;
    stop_outgrown(process_files, target, plan);
    usleep(1000 * watch_milliseconds);
  }
}

// Without a process namespace: everything that descends from the keeper is killed until nothing is left. Orphans come to the
// keeper because it is a subreaper.
void kill_descendants(int process_files, pid_t target, ChildPlan const& plan) {
  kill(-target, SIGKILL);
  for (;;) {
    for_each_contained(process_files, plan, [](pid_t process) { kill(process, SIGKILL); });
    pid_t ended = 0;
    while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (ended < 0 && errno == ECHILD) return;
    usleep(1000);
  }
}

// Returns when the process has ended or the parent wants everything stopped; calls `watch`, if there is one, now and then.
void wait_for_end_or_stop(pid_t process, std::function<void()> const& watch = {}) {
  int const handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  pollfd watched[2] = {{stop_descriptor, POLLIN, 0}, {handle, POLLIN, 0}};
  int found = 0;
  while ((found = poll(watched, 2, watch ? watch_milliseconds : -1)) == 0 || (found < 0 && errno == EINTR)) {
    if (watch) watch();
  }
  close(handle);
}

void keep_namespace(ChildPlan const& plan) {
  pid_t const first = fork();
  if (first < 0) give_up({"starting the first process of the namespace", errno});
  if (first == 0) run_first_process(plan);
  for (int const descriptor : {socket_descriptor, input_descriptor, output_descriptor}) close(descriptor);
  wait_for_end_or_stop(first);
  kill(first, SIGKILL); // without effect when it has ended: it is not collected yet
  while (waitpid(first, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void keep_group(ChildPlan const& plan, int process_files) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t const target = fork();
  if (target < 0) give_up({"starting the process", errno});
  if (target == 0) {
    close(process_files);
    run_target(plan);
  }
  for (int const descriptor : {socket_descriptor, input_descriptor, output_descriptor}) close(descriptor);
  std::function<void()> watch;
  if (plan.resident_mb) watch = [&] { stop_outgrown(process_files, target, plan); };
  wait_for_end_or_stop(target, watch);
  int status = 0;
  bool const ended = waitpid(target, &status, WNOHANG) == target;
  if (ended) report(LauncherStatus::ended, status);
  kill_descendants(process_files, target, plan);
}

} // namespace

void launch() {
  std::optional<ChildPlan> const plan = read_plan();
  if (!plan) give_up({"reading the plan", EINVAL});
  close_range(output_descriptor + 1, ~0U, 0);
  if (plan->processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(*plan->processor), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) give_up({"pinning to a processor", errno});
  }
  int const low = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int const process_files = fcntl(low, F_DUPFD_CLOEXEC, output_descriptor + 1); // above the numbers that have a meaning
  close(low);
  if (Step const entered = enter_namespaces(plan->layers); !entered) give_up(entered.error());
  if (plan->layers.mount_namespace) {
    if (Step const entered = enter_file_system(*plan); !entered) give_up(entered.error());
  }
  // No wish to die with the parent here: the end of the stop pipe says that it is gone, and then there is something left to do.
  prctl(PR_SET_DUMPABLE, 0);
  if (plan->layers.pid_namespace) {
    close(process_files);
    keep_namespace(*plan);
  } else {
    keep_group(*plan, process_files);
  }
  _exit(0); // what a normal end would run, a leak checker for example, needs rights that the keeper gave up
}

} // namespace tik::evaluator
