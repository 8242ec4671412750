#include "src/evaluator/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/evaluator/launcher.h"

namespace tik::evaluator {
namespace {

constexpr double tick_seconds = 0.05; // how often a cancellation is looked for

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}
double seconds_of(timeval const& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); }

tl::unexpected<Error> failure(char const* what) {
  return machine_error(fmt::format("A contained process cannot be started: {}: {}.", what, std::strerror(errno)));
}

// Moves a descriptor out of the range that the launcher uses, so that handing down cannot overwrite one before it is copied.
Descriptor lifted(int number) {
  Descriptor low(number);
  return Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 32));
}

struct Pipe {
  Descriptor read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failure("making a pipe");
  Pipe pipe{lifted(ends[0]), lifted(ends[1])};
  if (!pipe.read.open() || !pipe.write.open()) return failure("making a pipe");
  return pipe;
}

Result<Descriptor> memory_file(std::string const& content) {
  Descriptor memory = lifted(memfd_create("plan", MFD_CLOEXEC));
  if (!memory.open()) return failure("making a memory file");
  if (write(memory.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    return failure("writing the plan");
  }
  return memory;
}

// The list of descriptors that the launcher finds under fixed numbers.
class HandedDown {
 public:
  HandedDown() { posix_spawn_file_actions_init(&actions_); }
  ~HandedDown() { posix_spawn_file_actions_destroy(&actions_); }
  HandedDown(HandedDown const&) = delete;
  HandedDown& operator=(HandedDown const&) = delete;
  void add(int from, int to) {
    if (from >= 0) posix_spawn_file_actions_adddup2(&actions_, from, to);
  }
  void add_null(int to) { posix_spawn_file_actions_addopen(&actions_, to, "/dev/null", O_RDONLY, 0); }
  posix_spawn_file_actions_t const* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

int spawn_launcher(HandedDown const& handed_down, pid_t& process) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  char program[] = "tik", role[] = "evaluator-worker";
  char* const arguments[] = {program, role, nullptr};
  char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", language[] = "LANG=C.UTF-8";
  char* const environment[] = {path, language, nullptr};
  int const result = posix_spawn(&process, "/proc/self/exe", handed_down.get(), &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  return result;
}

} // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(number_, -1); }

void Descriptor::reset() {
  if (number_ >= 0) close(number_);
  number_ = -1;
}

std::string describe(Exit const& exit, double limit_seconds) {
  if (exit.cancelled) return "was stopped by the user";
  if (exit.timed_out) return fmt::format("did not finish within its limit of {} s and was killed", limit_seconds);
  if (exit.flooded) return fmt::format("wrote more than {} MiB of output and was killed", largest_output >> 20);
  if (!exit.launched) return fmt::format("could not be started: {}", exit.launch_error);
  if (exit.outgrown_mb > 0) return fmt::format("took more than its limit of {} MiB of memory and was killed", exit.outgrown_mb);
  if (exit.signal == SIGSYS)
    return "was killed because it made a system call that is not allowed here (a process, a thread, a "
           "socket, a file to write, another process's memory, or a wait)";
  if (exit.signal == SIGXCPU) return "used up its limit of processor time and was killed";
  if (exit.signal == SIGXFSZ) return "wrote a file larger than its limit and was killed";
  if (exit.signal != 0) return fmt::format("was killed by signal {} ({})", exit.signal, strsignal(exit.signal));
  if (!exit.exited) return "stopped answering and was killed";
  return fmt::format("exited with code {}", exit.code);
}

Result<Child> Child::start(ChildPlan const& plan, Options options) {
  Child child;
  child.options_ = std::move(options);
  TIK_TRY(Descriptor const plan_file, memory_file(encode_plan(plan)));
  TIK_TRY(Pipe output, make_pipe());
  TIK_TRY(Pipe stop, make_pipe());
  TIK_TRY(Pipe status, make_pipe());
  HandedDown handed_down;
  handed_down.add_null(STDIN_FILENO);
  handed_down.add(output.write.get(), STDOUT_FILENO);
  handed_down.add(output.write.get(), STDERR_FILENO);
  handed_down.add(plan_file.get(), plan_descriptor);
  handed_down.add(stop.read.get(), stop_descriptor);
  handed_down.add(status.write.get(), status_descriptor);
  handed_down.add(child.options_.socket, socket_descriptor);
  handed_down.add(child.options_.input_memory, input_descriptor);
  handed_down.add(child.options_.output_memory, output_descriptor);
  child.started_ = Clock::now();
  if (int const error = spawn_launcher(handed_down, child.keeper_); error != 0) {
    child.keeper_ = -1;
    errno = error;
    return failure("starting this program again");
  }
  child.keeper_handle_ = lifted(static_cast<int>(syscall(SYS_pidfd_open, child.keeper_, 0)));
  child.stop_ = std::move(stop.write);
  child.status_ = std::move(status.read);
  child.pipe_ = std::move(output.read);
  for (int const descriptor : {child.pipe_.get(), child.status_.get()}) fcntl(descriptor, F_SETFL, O_NONBLOCK);
  if (!child.keeper_handle_.open()) return failure("watching the process");
  return child;
}

Child::Child(Child&& other) noexcept
    : options_(std::move(other.options_)),
      keeper_(std::exchange(other.keeper_, -1)),
      keeper_handle_(std::move(other.keeper_handle_)),
      stop_(std::move(other.stop_)),
      status_(std::move(other.status_)),
      pipe_(std::move(other.pipe_)),
      started_(other.started_),
      output_(std::move(other.output_)),
      output_total_(other.output_total_),
      timed_out_(other.timed_out_),
      cancelled_(other.cancelled_),
      flooded_(other.flooded_) {}

Child::~Child() {
  if (keeper_ >= 0) finish();
}

double Child::seconds_left() const { return options_.seconds - seconds_between(started_, Clock::now()); }

bool Child::read_some() {
  std::array<char, 65536> buffer;
  if (!pipe_.open() || flooded_) return false;
  ssize_t const count = read(pipe_.get(), buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR;
  if (count == 0) {
    pipe_.reset();
    return false;
  }
  output_total_ += count;
  flooded_ = output_total_ > largest_output;
  if (options_.on_output) {
    options_.on_output(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    return true;
  }
  std::int64_t const room = options_.output_bytes - static_cast<std::int64_t>(output_.size());
  output_.append(buffer.data(), static_cast<std::size_t>(std::clamp<std::int64_t>(room, 0, count)));
  return true;
}

void Child::drain() {
  while (read_some()) {
  }
}

Child::Event Child::wait(int descriptor) {
  for (;;) {
    if (options_.cancel != nullptr && options_.cancel->load()) {
      cancelled_ = true;
      return Event::stopped;
    }
    double const left = seconds_left();
    if (left <= 0) {
      timed_out_ = true;
      return Event::stopped;
    }
    pollfd watched[3] = {{descriptor, POLLIN, 0}, {pipe_.get(), POLLIN, 0}, {keeper_handle_.get(), POLLIN, 0}};
    int const timeout = static_cast<int>(std::ceil(1000 * std::min(left, tick_seconds)));
    if (poll(watched, 3, timeout) < 0 && errno != EINTR) return Event::stopped;
    if (watched[1].revents != 0) read_some(); // one piece: whoever writes faster than it is read must not outrun the limit
    if (flooded_) return Event::stopped;
    if (watched[0].revents != 0) return Event::readable;
    if (watched[2].revents != 0) return Event::ended;
  }
}

void Child::read_status(Exit& exit) {
  LauncherStatus status;
  while (read(status_.get(), &status, sizeof status) == static_cast<ssize_t>(sizeof status)) {
    status.step[sizeof status.step - 1] = 0;
    if (status.kind == LauncherStatus::running) exit.launched = true;
    if (status.kind == LauncherStatus::failed) {
      exit.launched = false;
      exit.launch_error = fmt::format("{}: {}", status.step, std::strerror(status.value));
      return;
    }
    if (status.kind == LauncherStatus::outgrown) exit.outgrown_mb = status.value;
    if (status.kind == LauncherStatus::ended) {
      exit.exited = WIFEXITED(status.value);
      if (exit.exited) exit.code = WEXITSTATUS(status.value);
      if (WIFSIGNALED(status.value)) exit.signal = WTERMSIG(status.value);
    }
  }
  if (!exit.launched && exit.launch_error.empty()) exit.launch_error = "its launcher ended early";
}

Exit Child::finish(double grace_seconds) {
  Exit exit;
  if (keeper_ < 0) return exit;
  if (!timed_out_ && !cancelled_ && !flooded_ && grace_seconds > 0) {
    options_.seconds = std::min(options_.seconds, seconds_between(started_, Clock::now()) + grace_seconds);
    bool const expired = wait(-1) == Event::stopped && timed_out_;
    if (expired) timed_out_ = false;
  }
  stop_.reset();
  drain();
  rusage usage{};
  while (wait4(keeper_, nullptr, 0, &usage) < 0 && errno == EINTR) {
  }
  keeper_ = -1;
  drain();
  exit.seconds = seconds_between(started_, Clock::now());
  exit.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  exit.peak_memory_kb = usage.ru_maxrss;
  exit.timed_out = timed_out_;
  exit.cancelled = cancelled_;
  exit.flooded = flooded_;
  read_status(exit);
  return exit;
}

Result<RunResult> run(ChildPlan const& plan, Child::Options options) {
  TIK_TRY(Child child, Child::start(plan, std::move(options)));
  child.wait(-1);
  Exit exit = child.finish();
  return RunResult{std::move(exit), child.output(), child.output_cut()};
}

} // namespace tik::evaluator
