// `tik doctor`: what a search needs of a machine, checked by doing it, with a remedy for what is missing.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>

#include <algorithm>
#include <fstream>

#include "src/agent/http.h"
#include "src/base/files.h"
#include "src/base/scratch_folder.h"
#include "src/cli/commands.h"
#include "src/cli/program.h"
#include "src/evaluator/sandbox.h"
#include "src/report/format.h"

namespace tik::cli {
namespace {

// failed: a search cannot work. warning: it works with less, as said. absent: only needed for what is said.
enum class Health { good, warning, failed, absent };

struct Probe {
  std::string name;
  Health health = Health::good;
  std::string found, remedy; // a remedy for everything that is not good
};

std::string_view to_string(Health health) {
  static constexpr std::string_view names[] = {"ok", "warning", "failed", "absent"};
  return names[static_cast<int>(health)];
}

std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

Probe check_program(std::string name, std::vector<std::string> const& command, Health otherwise, std::string remedy) {
  Result<Finished> const finished = run_program(command);
  if (finished && finished->exit_code == 0) return {std::move(name), Health::good, first_line(finished->output), ""};
  std::string found =
      finished ? fmt::format("exit code {}: {}", finished->exit_code, first_line(finished->output)) : finished.error().message;
  return {std::move(name), otherwise, std::move(found), std::move(remedy)};
}

// Not only there: able to make the kind of library that an implementation is, and to have it loaded.
Probe check_compiler(std::filesystem::path const& scratch) {
  std::string const remedy = "Install it: apt-get install g++.";
  Probe check = check_program("compiler", {"g++", "--version"}, Health::failed, remedy);
  if (check.health != Health::good) return check;
  std::filesystem::path const source = scratch / "probe.cpp", library = scratch / "probe.so";
  if (auto const written = write_file(source, "extern \"C\" int probe() { return 42; }\n"); !written)
    return {"compiler", Health::failed, written.error().message, "Free space where temporary files lie, or set TMPDIR."};
  Result<Finished> const built = run_program(
      {"g++", "-std=c++20", "-O2", "-march=x86-64-v3", "-shared", "-fPIC", "-o", library.string(), source.string()});
  if (!built || built->exit_code != 0)
    return {"compiler", Health::failed, built ? first_line(built->output) : built.error().message,
            "It cannot build a shared library: reinstall it with its C++ library: apt-get install --reinstall g++."};
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  bool const works = handle && reinterpret_cast<int (*)()>(dlsym(handle, "probe"))() == 42;
  if (handle) dlclose(handle);
  if (works) return check;
  return {"compiler", Health::failed, "what it builds cannot be loaded",
          "Temporary files must lie on a file system without noexec; set TMPDIR to such a folder."};
}

Probe check_processor() {
  __builtin_cpu_init();
  bool const fit = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return fit ? Probe{"processor", Health::good, "has AVX2 and FMA", ""}
             : Probe{"processor", Health::failed, "has no AVX2 or no FMA",
                     "The CPU target needs x86-64-v3; use a newer processor."};
}

Probe check_disk(std::string name, std::filesystem::path const& folder) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0)
    return {std::move(name), Health::failed, folder.string() + " cannot be examined", "Choose a folder that exists."};
  double const free_gb = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / 1e9;
  std::string const found = fmt::format("{:.1f} GB free in {}", free_gb, folder.string());
  if (disk.f_flag & ST_RDONLY)
    return {std::move(name), Health::failed, folder.string() + " is read-only", "Work in a folder that can be written."};
  if (free_gb < 0.5) return {std::move(name), Health::failed, found, "Free at least 2 GB there, or work elsewhere."};
  if (free_gb < 2) return {std::move(name), Health::warning, found, "A long search wants 2 GB; free some, or work elsewhere."};
  return {std::move(name), Health::good, found, ""};
}

// Latencies are differences of this clock: it must be fine, and cheap against a round.
Probe check_clock() {
  timespec first{}, now{};
  clock_gettime(CLOCK_MONOTONIC, &first);
  constexpr int calls = 20000;
  for (int i = 0; i < calls; ++i) clock_gettime(CLOCK_MONOTONIC, &now);
  double const elapsed =
      static_cast<double>(now.tv_sec - first.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec - first.tv_nsec);
  double const each_ns = elapsed / calls;
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  std::getline(file, source);
  std::string const found = fmt::format("{:.0f} ns a reading{}", each_ns, source.empty() ? "" : ", source " + source);
  constexpr time_t year_2024 = 1704067200;
  if (wall.tv_sec < year_2024)
    return {"clock", Health::failed, "the wall clock is before 2024", "Set the system's date: records carry it."};
  if (each_ns > 1000)
    return {"clock", Health::warning, found,
            "The clock is slow to read; choose the tsc clock source, or longer rounds (min_round_us)."};
  return {"clock", Health::good, found, ""};
}

Probe check_sandbox(std::filesystem::path const& scratch) {
  Result<evaluator::Protections> const protections = evaluator::probe_protections(scratch);
  if (!protections)
    return {"sandbox", Health::failed, protections.error().message,
            "Candidates cannot be contained here; use another machine."};
  std::string const found = protections->on.empty() ? "no layer" : report::join(protections->on, ", ");
  if (protections->missing.empty()) return {"sandbox", Health::good, found, ""};
  return {"sandbox", Health::warning, found + "; missing: " + report::join(protections->missing, " "),
          "Run where user namespaces and seccomp are allowed (sysctl kernel.unprivileged_userns_clone=1, or a less strict "
          "container); without them run only candidates that you trust."};
}

Probe check_counters() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int level = 99;
  if (!(file >> level))
    return {"profiler", Health::absent, "no performance counters",
            "Only the profiler evidence needs them; it is reported as unavailable."};
  std::string const found = fmt::format("perf_event_paranoid is {}", level);
  if (level <= 2) return {"profiler", Health::good, found, ""};
  return {"profiler", Health::absent, found, "Only the profiler evidence needs it: sysctl kernel.perf_event_paranoid=2."};
}

Probe check_open_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  std::string const found = fmt::format("{} open files", limit.rlim_cur);
  if (limit.rlim_cur >= 256) return {"limits", Health::good, found, ""};
  return {"limits", Health::failed, found, "Raise it: ulimit -n 1024."};
}

Probe check_http() {
  auto const library = agent::http_library();
  if (library) return {"libcurl", Health::good, *library, ""};
  return {"libcurl", Health::absent, library.error().message,
          "Only `tik run --agent model` needs it: apt-get install libcurl4."};
}

constexpr char const* only_gpu = "Only targets sm_90a need a GPU with its driver; the CPU target works without.";

Probe check_gpu() {
  if (!std::filesystem::exists("/dev/nvidiactl")) return {"gpu", Health::absent, "no NVIDIA device", only_gpu};
  return check_program("gpu", {"nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"},
                       Health::absent, only_gpu);
}

// A worker that starts the driver, makes a context and writes memory, under the layers of protection that work here.
Probe check_gpu_worker(std::filesystem::path const& scratch) {
  if (!std::filesystem::exists("/dev/nvidiactl")) return {"gpu worker", Health::absent, "no NVIDIA device", only_gpu};
  Result<evaluator::Protections> protections = evaluator::probe_protections(scratch);
  if (!protections) return {"gpu worker", Health::absent, protections.error().message, only_gpu};
  std::size_t const missing = protections->missing.size();
  if (auto const probed = evaluator::probe_gpu(scratch, *protections); !probed)
    return {"gpu worker", Health::absent, probed.error().message, only_gpu};
  if (protections->missing.size() == missing) return {"gpu worker", Health::good, "works under every layer of the sandbox", ""};
  std::vector<std::string> const lost(protections->missing.begin() + static_cast<std::ptrdiff_t>(missing),
                                      protections->missing.end());
  return {"gpu worker", Health::warning, report::join(lost, " "), "On this machine evaluate only candidates that you trust."};
}

std::vector<Probe> all_checks(std::filesystem::path const& scratch) {
  std::error_code ignored;
  return {check_compiler(scratch),
          check_program("disassembler", {"objdump", "--version"}, Health::warning,
                        "Without it the instruction evidence is unavailable: apt-get install binutils."),
          check_program("git", {"git", "--version"}, Health::warning, "Only export and import need it: apt-get install git."),
          check_http(),
          check_processor(),
          check_disk("disk", std::filesystem::current_path(ignored)),
          check_disk("temporary files", scratch),
          check_clock(),
          check_sandbox(scratch),
          check_open_files(),
          check_counters(),
          check_gpu(),
          check_gpu_worker(scratch),
          check_program("cuda compiler", {"nvcc", "--version"}, Health::absent,
                        "Only targets sm_90a need it: install the CUDA toolkit."),
          check_program(
              "cuda disassembler", {"cuobjdump", "--version"}, Health::absent,
              "Without it the instruction evidence of targets sm_90a is unavailable: install the CUDA toolkit's binary tools."),
          check_program("gpu profiler", {"ncu", "--version"}, Health::absent,
                        "Only --profile of targets sm_90a needs it: install Nsight Compute.")};
}

Paint paint_of(Health health) {
  static constexpr Paint paints[] = {Paint::good, Paint::warning, Paint::bad, Paint::quiet};
  return paints[static_cast<int>(health)];
}

} // namespace

Result<int> execute(Doctor const& options, Console const& console) {
  TIK_TRY(ScratchFolder const scratch, ScratchFolder::temporary("tik"));
  std::vector<Probe> const checks = all_checks(scratch.path());
  bool const fit =
      std::none_of(checks.begin(), checks.end(), [](Probe const& check) { return check.health == Health::failed; });
  if (options.json) {
    nlohmann::ordered_json json = {{"schema", 1}, {"fit", fit}, {"checks", nlohmann::ordered_json::array()}};
    for (Probe const& check : checks)
      json["checks"].push_back(
          {{"name", check.name}, {"health", to_string(check.health)}, {"found", check.found}, {"remedy", check.remedy}});
    print_json(json);
    return fit ? 0 : 1;
  }
  for (Probe const& check : checks) {
    std::string const health = fmt::format("{:<8}", to_string(check.health));
    print(fmt::format("{} {:<17} {}\n", console.paint(health, paint_of(check.health)), check.name,
                      report::wrap(check.found, 96, 27)));
    if (!check.remedy.empty()) print(fmt::format("{:27}{}\n", "", report::wrap(check.remedy, 96, 27)));
  }
  print(fit ? "this machine is fit for a search on the CPU\n" : "this machine is not fit for a search: see what failed\n");
  return fit ? 0 : 1;
}

} // namespace tik::cli
