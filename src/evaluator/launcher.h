// The child side of a contained process: everything between the exec of a fresh image of this program and the first instruction
// of the command or the worker loop. Single-threaded, so that fork is safe.
#pragma once

namespace tik::evaluator {

// Descriptor numbers that the parent hands to the launcher.
enum LauncherDescriptor : int {
  plan_descriptor = 3,   // the ChildPlan
  stop_descriptor = 4,   // read end of a pipe: its end means "kill everything"
  status_descriptor = 5, // write end of a pipe: a LauncherStatus
  socket_descriptor = 6, // worker: requests and replies
  input_descriptor = 7,  // worker: memory it may read
  output_descriptor = 8, // worker: memory it may write
};

// What the launcher writes to its status pipe, as fixed-size records.
struct LauncherStatus {
  enum Kind : int { failed = 1, running = 2, ended = 3, outgrown = 4 } kind;
  int value;      // failed: errno; ended: the wait status; outgrown: ChildPlan::resident_mb
  char step[120]; // failed: what was being done
};

// Reads the plan, builds the containment, runs the process and keeps it until its end.
[[noreturn]] void launch();

} // namespace tik::evaluator
