// A contained process seen from the trusted side: start, read, wait, kill. No process of the candidate survives its Child.
#pragma once

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "src/evaluator/sandbox.h"

namespace tik::evaluator {

using Clock = std::chrono::steady_clock;

// An owned file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }
  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  int release();
  void reset();

 private:
  int number_ = -1;
};

// How a contained process ended.
struct Exit {
  bool launched = false;    // the process itself began to run
  std::string launch_error; // what kept it from running
  bool exited = false;      // it ended by itself with `code`
  int code = 0;
  int signal = 0;         // it was ended by this signal
  bool timed_out = false; // killed at its wall-clock limit
  bool flooded = false;   // killed after largest_output
  bool cancelled = false;
  std::int64_t outgrown_mb = 0; // killed with more resident memory than this limit; 0: not for that
  double seconds = 0;           // wall-clock
  double cpu_seconds = 0;       // user and system time, with all its children
  std::int64_t peak_memory_kb = 0;
  bool success() const { return launched && exited && code == 0 && !flooded; }
};

// "exited with code 1", "was killed by signal 11 (Segmentation fault)", "did not finish within its limit of 2 s and was
// killed".
std::string describe(Exit const& exit, double limit_seconds);

// Bytes that a process may write to stdout and stderr, kept or not: whoever writes more is killed.
inline constexpr std::int64_t largest_output = std::int64_t{64} << 20;

class Child {
 public:
  struct Options {
    double seconds = 60;                                    // wall-clock limit, from start
    std::int64_t output_bytes = 1 << 20;                    // kept of stdout and stderr; the rest is read and dropped
    std::atomic<bool> const* cancel = nullptr;              // ends it within a tenth of a second
    std::function<void(std::string_view)> on_output = {};   // instead of keeping: every piece as it arrives
    int socket = -1, input_memory = -1, output_memory = -1; // descriptors handed to a worker; still owned by the caller
  };

  // Starts the process of `plan` through a fresh image of this program.
  static Result<Child> start(ChildPlan const& plan, Options options);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) noexcept = delete;
  ~Child(); // kills whatever is left and waits for it

  enum class Event { readable, ended, stopped };
  // Reads output until `descriptor` (or -1) has something to read, the process has ended, or it has to be stopped (a limit
  // was reached or the caller cancelled; it is killed then).
  Event wait(int descriptor);

  // Gives the process `grace_seconds` to end by itself, kills it with everything it started, waits for the last of it, and
  // reads what is left of its output.
  Exit finish(double grace_seconds = 0);

  std::string const& output() const { return output_; }
  bool output_cut() const { return output_total_ > static_cast<std::int64_t>(output_.size()); }
  std::int64_t output_total() const { return output_total_; }
  double seconds_left() const;

 private:
  Child() = default;
  bool read_some(); // one piece of the output; whether there may be more
  void drain();
  void read_status(Exit& exit);

  Options options_;
  pid_t keeper_ = -1;
  Descriptor keeper_handle_, stop_, status_, pipe_;
  Clock::time_point started_;
  std::string output_;
  std::int64_t output_total_ = 0;
  bool timed_out_ = false, cancelled_ = false, flooded_ = false;
};

// Starts, waits for the end, and hands back the exit and the output.
struct RunResult {
  Exit exit;
  std::string output;
  bool output_cut = false;
};
Result<RunResult> run(ChildPlan const& plan, Child::Options options);

} // namespace tik::evaluator
