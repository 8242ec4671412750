// Hardware counters of a worker, read from outside it.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>

#include "src/evaluator/process.h"

namespace tik::evaluator {

class HardwareCounters {
 public:
  struct Values {
    std::uint64_t cycles = 0, instructions = 0, cache_references = 0, cache_misses = 0, branch_misses = 0;
  };
  // Opens the counters of a process; the error says why this machine does not give them.
  static Result<HardwareCounters> open(pid_t process);
  void start();
  Values stop();

 private:
  HardwareCounters() = default;
  std::array<Descriptor, 5> counters_; // the first leads the group
};

} // namespace tik::evaluator
