#include "tests/kill/interruption.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/kill/traced_calls.h"

namespace tik::kill {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto longest_wait = std::chrono::seconds(90); // for a line or a write that does not come: then it is killed anyway

std::string slurp(fs::path const& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> whole_lines(std::string const& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

void redirect(fs::path const& file, int descriptor) {
  dup2(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), descriptor);
}

pid_t start(std::vector<std::string>& command, fs::path const& folder, bool traced) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t const child = fork();
  if (child != 0) return child;
  redirect(folder / "out", STDOUT_FILENO);
  redirect(folder / "err", STDERR_FILENO);
  if (traced) ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  execv(words[0], words.data());
  _exit(127);
}

// What the process does right now, by the processes below it.
void look_below(pid_t process, std::string& where) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
  for (pid_t child; children >> child;) {
    std::ifstream comm(fmt::format("/proc/{}/comm", child));
    std::string name;
    std::getline(comm, name);
    if (where == "tik") where = "worker";
    for (char const* const tool : {"g++", "cc1plus", "as", "ld", "collect2", "sh"})
      if (name == tool) where = "build";
    look_below(child, where);
  }
}

bool ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

void wait_by_clock(pid_t child, Moment const& moment, fs::path const& out) {
  auto const until = Clock::now() + longest_wait;
  if (moment.kind == Moment::Kind::line)
    while (Clock::now() < until && !ended(child) && std::ssize(whole_lines(slurp(out))) < moment.n)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  auto const kill_at = Clock::now() + std::chrono::milliseconds(moment.milliseconds);
  while (Clock::now() < kill_at && !ended(child)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Lets the traced process run to its n-th write; says what that write belongs to, and nothing when it ended before.
std::string wait_for_write(pid_t child, Moment const& moment, fs::path const& search) {
  auto const until = Clock::now() + longest_wait;
  int status = 0, seen = 0;
  std::string writing;
  waitpid(child, &status, __WALL); // stopped by its own exec
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
  for (long signal = 0; ptrace(PTRACE_SYSCALL, child, nullptr, signal) == 0 && Clock::now() < until;) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WSTOPPED | WNOWAIT) != 0 || info.si_code != CLD_TRAPPED) break;
    waitpid(child, &status, __WALL);
    signal = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
    if (signal != 0) continue;
    __ptrace_syscall_info call{};
    ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof call, &call);
    if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
      writing = part_written(child, call, search);
      seen += writing.empty() ? 0 : 1;
      if (seen == moment.n && moment.kind == Moment::Kind::before_write) return writing;
    } else if (seen == moment.n && !writing.empty()) {
      return writing;
    }
  }
  return {};
}

// Waits for everything that was left to this process; returns what is still there after 2 seconds.
int left_behind() {
  auto const until = Clock::now() + std::chrono::seconds(2);
  for (;;) {
    pid_t const gone = waitpid(-1, nullptr, WNOHANG | __WALL);
    if (gone < 0) return 0;
    if (gone == 0 && Clock::now() > until) break;
    if (gone == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  int left = 0;
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", getpid()));
  for (pid_t child; children >> child;) left += 1;
  return left;
}

} // namespace

std::string_view to_string(Moment::Kind kind) {
  switch (kind) {
    case Moment::Kind::time:
      return "after a time";
    case Moment::Kind::line:
      return "after a line of output";
    case Moment::Kind::before_write:
      return "before a write";
    case Moment::Kind::after_write:
      return "after a write";
  }
  return "";
}

Moment draw_moment(std::mt19937_64& random, int step_milliseconds) {
  auto const between = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  switch (between(0, 3)) {
    case 0:
      return {Moment::Kind::time, 0, between(1, step_milliseconds * 5 / 4)};
    case 1:
      return {Moment::Kind::line, 1, between(0, 40)};
    default: // a resumed step makes some tens of writes, and the first of them stand for every kind
      return {between(0, 1) == 0 ? Moment::Kind::before_write : Moment::Kind::after_write, between(1, 100), 0};
  }
}

Interruption run_and_kill(std::vector<std::string> command, Moment const& moment, fs::path const& search,
                          fs::path const& folder) {
  bool const traced = moment.kind == Moment::Kind::before_write || moment.kind == Moment::Kind::after_write;
  pid_t const child = start(command, folder, traced);
  Interruption interruption;
  if (traced) {
    interruption.where = wait_for_write(child, moment, search);
  } else {
    wait_by_clock(child, moment, folder / "out");
  }
  if (interruption.where.empty()) {
    interruption.where = "tik";
    look_below(child, interruption.where);
  }
  ::kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
  }
  interruption.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  interruption.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  interruption.lines = whole_lines(slurp(folder / "out"));
  interruption.errors = slurp(folder / "err");
  interruption.left_processes = left_behind();
  return interruption;
}

} // namespace tik::kill
