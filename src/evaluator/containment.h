// The steps that put the calling process into its containment. Linux only; each step says what it was doing when it failed.
#pragma once

#include <cerrno>
#include <string>

#include "src/evaluator/sandbox.h"

namespace tik::evaluator {

// What could not be done, and the system's errno. No value: done.
struct StepFailure {
  std::string step;
  int error = 0;
};
using Step = tl::expected<void, StepFailure>;

inline tl::unexpected<StepFailure> step_failed(std::string step) { return tl::unexpected(StepFailure{std::move(step), errno}); }

// Leaves the namespaces of the caller for those of the plan. A new process namespace begins with the next fork.
Step enter_namespaces(Layers const& layers);

// Puts together a file system on plan.staging and makes it the root: system folders read-only, a small /dev, a private /tmp,
// and the plan's folders. Needs the mount namespace.
Step enter_file_system(ChildPlan const& plan);

// A /proc of the new process namespace; its absence is no failure.
void mount_process_files();

// Resource limits except that on memory.
Step set_limits(ChildPlan const& plan);

// The limit on memory: as late as can be, because a launcher with a sanitizer has reserved more already and cannot allocate any
// more from here on.
Step limit_memory(ChildPlan const& plan);

// Gives up every privilege, for good: user id, groups, capabilities, and the gaining of new ones.
Step drop_privileges(ChildPlan const& plan);

// Installs the seccomp filter of the plan.
Step filter_system_calls(CallFilter filter);

} // namespace tik::evaluator
