#include "src/evaluator/device_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "src/evaluator/image.h"
#include "src/evaluator/kernel_name.h"
#include "src/evaluator/scratch.h"
#include "src/evaluator/tape.h"
#include "src/evaluator/text.h"
#include "src/evaluator/timed_calls.h"

namespace tik::evaluator {
namespace {

constexpr double profile_seconds = 60;
constexpr std::int64_t largest_table = std::int64_t{4} << 20;
constexpr char installed[] = "/opt/nvidia/nsight-compute"; // where the toolkit's `ncu` starts the tool itself
constexpr char library_inside[] = "/library", tape_inside[] = "/tape", program_inside[] = "/program";

// What is asked for: our name, with its unit, and the tool's. `scale` makes one of the other.
struct Metric {
  char const* name;
  char const* counter;
  double scale = 1;
};
constexpr Metric metrics[] = {
    {"duration_us", "gpu__time_duration.sum", 1e-3},
    {"sm_busy_percent", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"tensor_pipe_percent", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
    {"fma_pipe_percent", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"},
    {"xu_pipe_percent", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"},
    {"dram_percent", "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"dram_read_bytes", "dram__bytes_read.sum"},
    {"dram_write_bytes", "dram__bytes_write.sum"},
    {"l2_percent", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"l2_hit_percent", "lts__t_sector_hit_rate.pct"},
    {"achieved_occupancy_percent", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"issue_active_percent", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {"stall_barrier", "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"},
    {"stall_branch", "smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio"},
    {"stall_dispatch", "smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio"},
    {"stall_gmma", "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio"},
    {"stall_long_scoreboard", "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"},
    {"stall_math_pipe", "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio"},
    {"stall_membar", "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio"},
    {"stall_mio", "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio"},
    {"stall_no_instruction", "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio"},
    {"stall_not_selected", "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio"},
    {"stall_short_scoreboard", "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio"},
    {"stall_sleeping", "smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio"},
    {"stall_wait", "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"},
};

std::string counters() {
  std::string all;
  for (Metric const& metric : metrics) all += (all.empty() ? "" : ",") + std::string(metric.counter);
  return all;
}

// One line of a table whose every value stands in quotes.
std::vector<std::string> quoted_values(std::string_view line) {
  std::vector<std::string> values;
  for (std::size_t at = 0; at < line.size() && line[at] == '"';) {
    std::string value;
    for (++at; at < line.size(); ++at) {
      bool const quote = line[at] == '"';
      if (quote && (at + 1 >= line.size() || line[at + 1] != '"')) break; // two stand for one
      if (quote) ++at;
      value += line[at];
    }
    values.push_back(std::move(value));
    at += 2; // the quote and the comma
  }
  return values;
}

using Row = std::map<std::string, std::string>;
std::string field(Row const& row, std::string const& name) {
  auto const at = row.find(name);
  return at == row.end() ? std::string() : at->second;
}

// "1,024.5", or nothing for "n/a" and the like.
Json number(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  double const value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0 && std::isfinite(value) ? Json(value) : Json();
}

Json kernel_json(Row const& row) {
  Json values = Json::object();
  for (Metric const& metric : metrics) {
    Json value = number(field(row, metric.counter));
    if (value.is_number()) value = metric.scale * value.get<double>();
    values[metric.name] = std::move(value);
  }
  return {{"kernel", kernel_name(valid_utf8(field(row, "Kernel Name")))},
          {"grid", valid_utf8(field(row, "Grid Size"))},
          {"block", valid_utf8(field(row, "Block Size"))},
          {"metrics", std::move(values)}};
}

// The tool's own words about what went wrong: its lines that say so, else its last.
std::string complaint(std::string_view text) {
  std::string said, last;
  for_each_line(text, [&](std::string_view line) {
    constexpr std::string_view mark = "==ERROR==";
    if (auto const at = line.find(mark); at != std::string_view::npos) {
      std::string_view rest = line.substr(at + mark.size());
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      said += (said.empty() ? "" : " ") + std::string(rest);
    }
    if (!line.empty()) last = line;
  });
  return valid_utf8(said.empty() ? last : said);
}

constexpr std::string_view refused = "ERR_NVGPUCTRPERM";

std::string reason_of(std::string_view text) {
  if (text.find(refused) == std::string_view::npos) return "ncu: " + complaint(text);
  return "The driver gives this GPU's counters to administrators only (ERR_NVGPUCTRPERM), and a candidate never runs as one: "
         "load the driver with NVreg_RestrictProfilingToAdminUsers=0.";
}

// The program that this process runs, for a contained process to start.
struct Program {
  Mount folder;
  std::string name;
};
Program own_program() {
  std::error_code ignored;
  std::filesystem::path const path = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return {{path.parent_path(), program_inside, false}, path.filename().string()};
}

// Lays a call of the workload out as any other, in a worker that runs it once, and writes it to a tape.
Checked<void> write_call(StageContext const& context, BuiltImplementation const& candidate, spec::Workload const& workload,
                         std::string const& library, std::filesystem::path const& folder) {
  Checked<Session> session = start_session(context, candidate);
  if (!session) return tl::unexpected(session.error());
  Random random(context.seed ^ 0x70726f66696c65);
  TimedWorkload const timed = prepare_workload(workload, context.specification.shape, false, random);
  Arena arena(*session);
  Checked<Image> image = Image::place(arena, timed.dataset, timed.shape, random);
  if (!image) return tl::unexpected(std::move(image.error()));
  image->use_graph(false);
  if (Checked<Outputs> const outputs = image->run(); !outputs) return tl::unexpected(outputs.error());
  CallRequest call = image->request();
  call.transfer.input = image->input_extent(); // run() has sent them already
  call.transfer.output = image->output_extent();
  Result<void> const written =
      write_tape(folder, {LoadRequest{library, symbols_of(candidate.manifest)}, call},
                 session->input().first(arena.used(Part::values)), session->output().first(arena.used(Part::results)));
  if (!written) return machine_failure(written.error());
  session->close();
  return {};
}

ChildPlan profiler_plan(StageContext const& context, spec::Workload const& workload, Program const& program,
                        std::vector<Mount> mounts, std::uint32_t user) {
  ChildPlan plan;
  plan.command = {"ncu", "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "mangled", "--metrics",
                  counters(),
                  // The clocks are left alone.
                  "--clock-control", "none", "--cache-control", workload.cache == spec::CacheState::warm ? "none" : "all",
                  program_inside + ("/" + program.name), "evaluator-worker", std::string(tape_role), tape_inside};
  plan.gpu = GpuUse::command;
  plan.gpu_number = context.gpu_number;
  plan.environment = {"PATH=/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp", "TMPDIR=/tmp"};
  plan.mounts = std::move(mounts);
  plan.staging = context.scratch / staging_folder;
  plan.layers = context.worker_layers;
  plan.filter = CallFilter::profiler;
  plan.resident_mb = context.specification.run_limits.memory_mb + 8192; // with the tape, and what the tool keeps of it
  plan.cpu_seconds = profile_seconds;
  plan.file_mb = 1024;
  plan.processes = 256;
  plan.user = user;
  return plan;
}

Result<Json> profile_workload(StageContext const& context, BuiltImplementation const& candidate,
                              spec::Workload const& workload) {
  TIK_TRY(ScratchFolder const tape, ScratchFolder::make(context.scratch, "tape"));
  std::uint32_t const user = contained_user();
  TIK_CHECK(hand_over(tape.path(), user));
  Program const program = own_program();
  Mount const library{candidate.built.folder, library_inside, false};
  std::string const library_path = library_inside + ("/" + candidate.built.library_name);
  if (auto written = write_call(context, candidate, workload, library_path, tape.path()); !written)
    return input_error(written.error().message);
  Child::Options options;
  options.seconds = profile_seconds;
  options.output_bytes = largest_table;
  options.cancel = context.cancel;
  std::vector<Mount> mounts = {library, program.folder, {tape.path(), tape_inside, false}};
  if (std::error_code ignored; std::filesystem::is_directory(installed, ignored))
    mounts.push_back({installed, installed, false});
  TIK_TRY(RunResult const result, run(profiler_plan(context, workload, program, std::move(mounts), user), std::move(options)));
  if (!result.exit.launched) return input_error("ncu, of Nsight Compute, cannot be started: " + result.exit.launch_error + ".");
  if (!result.exit.success() && !result.exit.exited)
    return input_error(fmt::format("ncu {}.", describe(result.exit, profile_seconds)));
  return read_profile(result.output);
}

} // namespace

Result<Json> read_profile(std::string_view text) {
  Json kernels = Json::array();
  std::vector<std::string> names;
  bool units = false; // the line after the names
  for_each_line(text, [&](std::string_view line) {
    std::vector<std::string> const values = quoted_values(line);
    if (names.empty()) {
      if (!values.empty() && values[0] == "ID") names = values;
    } else if (values.size() == names.size()) {
      Row row;
      for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = values[i];
      if (std::exchange(units, true)) kernels.push_back(kernel_json(row));
    }
  });
  if (kernels.empty()) return input_error(reason_of(text));
  return kernels;
}

Evidence device_profile(StageContext const& context, BuiltImplementation const& candidate,
                        std::vector<std::string> const& workloads) {
  Evidence evidence;
  evidence.name = "profiler";
  evidence.source =
      "ncu of one call of each workload, in containment, where the candidate could forge it; its clocks are not locked";
  if (workloads.empty()) {
    evidence.reason =
        "It was not asked for: `--profile WORKLOAD` has Nsight Compute count while the kernels of a workload run.";
    return evidence;
  }
  // It speaks to what it profiles through local sockets.
  if (Layers const& layers = context.worker_layers; !layers.network_namespace || !layers.mount_namespace) {
    evidence.reason =
        "Nsight Compute needs local sockets, and without a network namespace and a mount namespace a candidate could "
        "reach those of other programs.";
    return evidence;
  }
  Json table = Json::array();
  for (spec::Workload const& workload : context.specification.workloads) {
    if (std::find(workloads.begin(), workloads.end(), workload.id) == workloads.end()) continue;
    Result<Json> kernels = profile_workload(context, candidate, workload);
    if (!kernels) {
      evidence.reason = workload.id + ": " + kernels.error().message;
      return evidence;
    }
    table.push_back({{"workload", workload.id}, {"kernels", std::move(*kernels)}});
  }
  evidence.available = true;
  evidence.data = {{"workloads", std::move(table)}};
  return evidence;
}

} // namespace tik::evaluator
