// What keeps a build or a worker in its place, and the plan of one such process. Every layer is tried once (probe_protections)
// and then asked for by name, so a machine that lacks one is served without it and the report says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/spec/specification.h"

namespace tik::evaluator {

// The layers of protection that a process can be given. Limits, no-new-privileges and a process group of its own are always on.
struct Layers {
  bool user_namespace = false;    // an ordinary user's way to the other namespaces
  bool mount_namespace = false;   // a private file system: system folders read-only, a private /tmp, the plan's folders
  bool pid_namespace = false;     // every process of the candidate dies with the first one
  bool network_namespace = false; // no network, not even the loopback
  bool ipc_namespace = false;     // no shared memory or message queues of others
  bool separate_user = false;     // a user id that owns nothing and is shared with nobody
  bool system_call_filter =
      false; // seccomp: no sockets, no tracing, no kernel keys; in a worker no processes or threads either
};

// What is on and what is not, in words.
struct Protections {
  Layers layers;
  Layers gpu_layers;                // of workers on a GPU, whose driver may not work under every layer; set by probe_gpu()
  std::vector<std::string> on;      // names of the layers that are on; Report::protections
  std::vector<std::string> missing; // one sentence for each that is not: what lacks and why
};

// A folder of the host that a contained process sees under another path.
struct Mount {
  std::filesystem::path host;
  std::string inside; // absolute path inside
  bool writable = false;
};

// Which system calls are left to a process.
enum class CallFilter { none, build, worker, gpu_worker, profiler };

// What a process does with a GPU: nothing, serve requests on it, only try whether it works, or, as a command, whatever it does.
enum class GpuUse { none, serve, probe, command };

// One contained process.
struct ChildPlan {
  std::vector<std::string> command; // an argument vector; empty: the worker loop, serving requests on its socket
  GpuUse gpu = GpuUse::none;        // other than none: the devices of the GPU are let through
  int gpu_number = 0;               // the only one that is seen, as nvidia-smi numbers them
  std::vector<std::string> environment;
  std::vector<Mount> mounts;
  std::string working_directory = "/"; // inside
  std::filesystem::path staging;       // an empty folder of the host on which the private file system is put together
  Layers layers;
  CallFilter filter = CallFilter::none;
  std::optional<std::int64_t> memory_mb; // RLIMIT_AS
  // For a process that reserves address space without using it, as the driver of a GPU does: its resident set, with those of
  // all that it starts, is watched from outside, and beyond this it is killed.
  std::optional<std::int64_t> resident_mb;
  double cpu_seconds = 0;       // RLIMIT_CPU, rounded up
  std::int64_t file_mb = 0;     // RLIMIT_FSIZE
  int processes = 0;            // RLIMIT_NPROC
  std::optional<int> processor; // runs on this one only
  std::uint32_t user = 0;       // with Layers::separate_user
};

// The plan as bytes and back; it travels from the parent to the launcher, both trusted.
std::string encode_plan(ChildPlan const& plan);
Result<ChildPlan> decode_plan(std::string const& bytes);

// Tries every layer with a short-lived process of this program and says which work here. `scratch` is an existing folder.
Result<Protections> probe_protections(std::filesystem::path const& scratch);

// Tries the GPU under the layers that work here, and without those under which it does not; each such loss is added to
// `protections.missing`. `gpu_number` as nvidia-smi numbers them. An input error when this machine has no such GPU that works.
Result<void> probe_gpu(std::filesystem::path const& scratch, Protections& protections, int gpu_number = 0);

// The folder as a process of the plan sees it: `inside` when it has a file system of its own, else the path on the host.
std::string seen_path(Layers const& layers, Mount const& mount);

} // namespace tik::evaluator
