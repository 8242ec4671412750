#include <fmt/format.h>
#include <unistd.h>

#include "src/evaluator/process.h"
#include "src/evaluator/scratch.h"
#include "src/evaluator/text.h"

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

constexpr double probe_seconds = 20; // the first context on a GPU takes some

// Runs a command that does nothing, or tries the GPU, under `layers`; the reason when it cannot.
Result<std::string> try_layers(Layers const& layers, std::filesystem::path const& scratch, GpuUse gpu = GpuUse::none,
                               int gpu_number = 0) {
  TIK_TRY(ScratchFolder const staging, ScratchFolder::make(scratch, "probe"));
  ChildPlan plan;
  if (gpu == GpuUse::none) plan.command = {"/bin/true"};
  plan.gpu = gpu;
  plan.gpu_number = gpu_number;
  plan.staging = staging.path();
  plan.layers = layers;
  plan.filter = gpu == GpuUse::none ? CallFilter::build : CallFilter::gpu_worker;
  plan.user = contained_user();
  TIK_TRY(RunResult const result, run(plan, {.seconds = probe_seconds}));
  if (result.exit.success()) return std::string();
  std::string const said = valid_utf8(result.output.substr(0, result.output.find('\n')));
  return said.empty() ? describe(result.exit, probe_seconds) : said;
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
    if (root && !found.layers.mount_namespace) {
      found.missing.push_back(fmt::format("{} is off (it needs mount-namespace): {}.", separate_user.name, separate_user.loss));
    }
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

Result<void> probe_gpu(std::filesystem::path const& scratch, Protections& protections, int gpu_number) {
  auto const try_gpu = [&](Layers const& layers) { return try_layers(layers, scratch, GpuUse::probe, gpu_number); };
  TIK_TRY(std::string const whole, try_gpu(protections.layers));
  if (whole.empty()) {
    protections.gpu_layers = protections.layers;
    return {};
  }
  Layers working;
  TIK_TRY(std::string const bare, try_gpu(working));
  if (!bare.empty()) return input_error(bare);
  constexpr Layer user_namespace = {"user-namespace", &Layers::user_namespace, "no namespace can be had without being root"};
  std::vector<Layer> wanted = {user_namespace};
  wanted.insert(wanted.end(), std::begin(namespaces), std::end(namespaces));
  wanted.insert(wanted.end(), {separate_user, filter});
  for (Layer const& layer : wanted) {
    if (!(protections.layers.*layer.flag)) continue;
    // Without a file system of its own a process finds no /proc of its namespace, and another user cannot reach the library.
    bool const needs_mounts = layer.flag == &Layers::pid_namespace || layer.flag == &Layers::separate_user;
    if (needs_mounts && !working.mount_namespace) {
      protections.missing.push_back(
          fmt::format("{} is off for workers on the GPU (it needs mount-namespace): {}.", layer.name, layer.loss));
      continue;
    }
    Layers wider = working;
    wider.*layer.flag = true;
    TIK_TRY(std::string const reason, try_gpu(wider));
    if (reason.empty()) {
      working = wider;
    } else {
      protections.missing.push_back(fmt::format("{} is off for workers on the GPU ({}): {}.", layer.name, reason, layer.loss));
    }
  }
  protections.gpu_layers = working;
  return {};
}

} // namespace tik::evaluator
