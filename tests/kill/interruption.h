// Runs the real `tik` and kills it with SIGKILL at a chosen moment.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace tik::kill {

// When to kill.
struct Moment {
  enum class Kind {
    time,         // so many milliseconds after the start
    line,         // so many milliseconds after it printed its n-th line
    before_write, // instead of its n-th system call that changes the records or the sources
    after_write   // right after that call
  };
  Kind kind = Kind::time;
  int n = 1, milliseconds = 0;
};
std::string_view to_string(Moment::Kind kind);

// Every kind equally often; times are spread over somewhat more than a step, which takes about `step_milliseconds`.
Moment draw_moment(std::mt19937_64& random, int step_milliseconds);

struct Interruption {
  bool killed = false; // false: it ended by itself before, with `exit_code`
  int exit_code = 0;
  std::string where; // "build", "worker", "database", "sources", "lock", or "tik" for anything else it did by itself
  std::vector<std::string> lines; // what it printed, in whole lines
  std::string errors;             // and said on standard error
  int left_processes = 0;         // of what it had started, 2 seconds later
};

// Runs `command` on the search in `search`; its output goes to files in `folder`. Whatever the command leaves behind must
// become a child of the calling process (PR_SET_CHILD_SUBREAPER), which has no other children.
Interruption run_and_kill(std::vector<std::string> command, Moment const& moment, std::filesystem::path const& search,
                          std::filesystem::path const& folder);

} // namespace tik::kill
