#include "src/evaluator/evidence.h"

#include <fmt/format.h>

#include "src/evaluator/device_profile.h"
#include "src/evaluator/sass.h"
#include "src/evaluator/scratch.h"
#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

constexpr std::int64_t largest_disassembly = std::int64_t{32} << 20;
constexpr double disassembly_seconds = 20;

// The manifest's rules for the entry point of every workload. They are the candidate's own words, and marked so.
Evidence dispatch_evidence(spec::Specification const& specification, spec::Manifest const& manifest) {
  Evidence evidence;
  evidence.name = "dispatch";
  evidence.source = "the dispatch rules of implementation.toml, as declared";
  Json workloads = Json::array();
  for (spec::Workload const& workload : specification.workloads) {
    Json rules = Json::array();
    for (spec::DispatchRule const& rule : manifest.dispatch) {
      if (rule.entry_point != workload.entry_point()) continue;
      rules.push_back({{"when", valid_utf8(rule.when)}, {"variant", valid_utf8(rule.variant)}});
    }
    std::string const& symbol = workload.kind == spec::WorkloadKind::decode   ? manifest.decode_symbol
                                : workload.kind == spec::WorkloadKind::extend ? manifest.extend_symbol
                                                                              : manifest.full_symbol;
    workloads.push_back({{"workload", workload.id}, {"symbol", valid_utf8(symbol)}, {"rules", rules}});
  }
  evidence.available = !manifest.dispatch.empty();
  if (!evidence.available) evidence.reason = "The manifest declares no dispatch rules.";
  evidence.data = {{"declared", true},
                   {"observed", "the symbol of every workload: the worker finds it by name and calls it"},
                   {"not_observed",
                    "which variant does the work behind the symbol: a CPU has no kernels to count, and functions "
                    "that the compiler inlined leave no trace"},
                   {"workloads", workloads}};
  return evidence;
}

// objdump reads a file that the candidate made, so it runs in containment too.
Result<RunResult> disassemble(StageContext const& context, Built const& built, std::vector<std::string> command) {
  TIK_TRY(std::filesystem::path const staging, make_folder(context.scratch, staging_folder));
  Mount const library{built.folder, "/library", false};
  ChildPlan plan;
  command.push_back(seen_path(context.layers, library) + "/" + built.library_name);
  plan.command = std::move(command);
  plan.environment = {"PATH=/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"};
  plan.mounts = {library};
  plan.staging = staging;
  plan.layers = context.layers;
  plan.filter = CallFilter::build;
  plan.memory_mb = 2048;
  plan.cpu_seconds = disassembly_seconds;
  plan.file_mb = 16;
  plan.processes = 16;
  plan.user = contained_user();
  Child::Options options;
  options.seconds = disassembly_seconds;
  options.output_bytes = largest_disassembly;
  options.cancel = context.cancel;
  return run(plan, std::move(options));
}

} // namespace

Evidence instruction_evidence(StageContext const& context, BuiltImplementation const& candidate) {
  std::vector<std::string> command = {"objdump", "-d", "-C", "--no-show-raw-insn", "-w"};
  if (context.gpu()) command = {"cuobjdump", "--dump-sass"};
  std::string const tool = command[0];
  Evidence evidence;
  evidence.name = "instructions";
  evidence.source = tool + " " + command[1] + " of the built library";
  Result<RunResult> const result = disassemble(context, candidate.built, std::move(command));
  if (!result) {
    evidence.reason = result.error().message;
    return evidence;
  }
  if (!result->exit.success()) {
    evidence.reason = fmt::format("{} {}.", tool, describe(result->exit, disassembly_seconds));
    return evidence;
  }
  evidence.available = true;
  spec::Manifest const& manifest = candidate.manifest;
  evidence.data = context.gpu() ? summarize_sass(result->output)
                                : summarize_instructions(
                                      result->output, {manifest.full_symbol, manifest.extend_symbol, manifest.decode_symbol});
  evidence.data["cut"] = result->output_cut;
  return evidence;
}

std::vector<Evidence> collect_evidence(StageContext const& context, BuiltImplementation const& candidate,
                                       Evidence const& dispatch, Evidence const& counters, Evidence const& instructions,
                                       std::vector<std::string> const& profile) {
  if (!context.gpu()) {
    return {dispatch_evidence(context.specification, candidate.manifest), candidate.built.remarks, instructions, counters};
  }
  return {dispatch, candidate.built.remarks, instructions, device_profile(context, candidate, profile)};
}

} // namespace tik::evaluator
