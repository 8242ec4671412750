#include <fmt/format.h>
#include <unistd.h>

#include "src/evaluator/process.h"
#include "src/evaluator/scratch.h"

namespace tik::evaluator {
namespace {

struct Layer {
  char const* name;
  bool Layers::*flag;
  char const* loss; // what is not prevented without it
};

constexpr Layer namespaces[] = {
    {"mount-namespace", &Layers::mount_namespace, "candidates can read the files that this user can read"},
    {"pid-namespace", &Layers::pid_namespace, "processes are found by their ancestry when they are killed"},
    {"network-namespace", &Layers::network_namespace, "only the system call filter keeps candidates off the network"},
    {"ipc-namespace", &Layers::ipc_namespace, "only the system call filter keeps candidates from shared memory"},
};
constexpr Layer separate_user = {"separate-user", &Layers::separate_user, "candidates run under the id of this user"};
constexpr Layer filter = {"seccomp", &Layers::system_call_filter, "system calls of candidates are not filtered"};

// Runs a command that does nothing under `layers`; the reason when it cannot.
Result<std::string> try_layers(Layers const& layers, std::filesystem::path const& scratch) {
  TIK_TRY(ScratchFolder const staging, ScratchFolder::make(scratch, "probe"));
  ChildPlan plan;
  plan.command = {"/bin/true"};
  plan.staging = staging.path();
  plan.layers = layers;
  plan.filter = CallFilter::build;
  plan.user = contained_user();
  TIK_TRY(RunResult const result, run(plan, {.seconds = 10}));
  return result.exit.success() ? std::string() : describe(result.exit, 10);
}

} // namespace

Result<Protections> probe_protections(std::filesystem::path const& scratch) {
  bool const root = geteuid() == 0;
  Protections found;
  found.on = {"process-group", "rlimits", "no-new-privs"};
  Layers all;
  all.user_namespace = !root;
  all.separate_user = root;
  all.system_call_filter = true;
  for (Layer const& layer : namespaces) all.*layer.flag = true;
  TIK_TRY(std::string const whole, try_layers(all, scratch));
  if (whole.empty()) {
    found.layers = all;
  } else {
    Layers base;
    base.user_namespace = all.user_namespace;
    if (base.user_namespace) {
      TIK_TRY(std::string const reason, try_layers(base, scratch));
      base.user_namespace = reason.empty();
    }
    found.layers = base;
    auto const add = [&](Layer const& layer) -> Result<void> {
      Layers wider = found.layers;
      wider.*layer.flag = true;
      TIK_TRY(std::string const reason, try_layers(wider, scratch));
      if (reason.empty()) {
        found.layers = wider;
      } else {
        found.missing.push_back(fmt::format("{} is off ({}): {}.", layer.name, reason, layer.loss));
      }
      return {};
    };
    for (Layer const& layer : namespaces) TIK_CHECK(add(layer));
    // Another user cannot reach the folders of this one without a file system of its own.
    if (root && found.layers.mount_namespace) TIK_CHECK(add(separate_user));
    TIK_CHECK(add(filter));
  }
  if (found.layers.user_namespace) found.on.push_back("user-namespace");
  for (Layer const& layer : namespaces) {
    if (found.layers.*layer.flag) found.on.push_back(layer.name);
  }
  for (Layer const& layer : {separate_user, filter}) {
    if (found.layers.*layer.flag) found.on.push_back(layer.name);
  }
  return found;
}

} // namespace tik::evaluator
