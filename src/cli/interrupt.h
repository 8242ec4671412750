// Ctrl-C and termination as a flag that long work watches.
#pragma once

#include <atomic>

namespace tik::cli {

// While it lives, the first SIGINT or SIGTERM only sets the flag; the second ends the process as it would without this.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(Interrupt const&) = delete;
  Interrupt& operator=(Interrupt const&) = delete;

  // Also set by whoever wants the work to stop.
  static std::atomic<bool>& flag();
  // True when it was a signal.
  static bool signalled();
};

} // namespace tik::cli
