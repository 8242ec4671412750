// `tik evaluate`: the evaluator alone, without a search.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/scratch_folder.h"
#include "src/cli/commands.h"
#include "src/cli/hosts.h"
#include "src/cli/interrupt.h"
#include "src/cli/progress.h"
#include "src/cli/report_text.h"
#include "src/evaluator/evaluator.h"
#include "src/evaluator/statistics.h"
#include "src/report/format.h"
#include "src/search/rules.h"

namespace tik::cli {
namespace {

Result<void> is_folder(std::filesystem::path const& folder, std::string_view what) {
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return {};
  return input_error(fmt::format("{}: not a folder. {} is a folder with {}.", folder.string(), what, spec::manifest_file));
}

Result<evaluator::Report> evaluate(evaluator::Request request, Console const& console, std::string const& what) {
  StageLine line(console, what);
  request.progress = [&](std::string_view stage, double fraction) { line.stage(stage, fraction); };
  request.cancel = &Interrupt::flag();
  Result<evaluator::Report> report = evaluator::evaluate(request);
  line.finish();
  return report;
}

// Evaluated alone first: what the candidate is measured against must be verified, and its latencies be known.
Result<std::map<std::string, double>> incumbent_latencies(evaluator::Request const& base,
                                                          std::filesystem::path const& incumbent, Console const& console) {
  evaluator::Request request = base;
  request.source = incumbent;
  request.profile.clear();
  TIK_TRY(evaluator::Report const report, evaluate(std::move(request), console, "evaluating the incumbent"));
  if (!report.verified() || !report.measured(base.specification))
    return input_error(
        fmt::format("{}: the incumbent is not verified and completely measured, so nothing can be measured against it. `tik "
                    "evaluate` on it shows why.",
                    incumbent.string()));
  std::map<std::string, double> latencies;
  for (evaluator::WorkloadMeasurement const& workload : report.workloads) latencies[workload.id] = workload.latency_us;
  return latencies;
}

// How an implementation measured beside itself came out.
struct Repeated {
  double ratio = 0, total_us = 0; // T over what was recorded, and T
  bool promoted = false;
};

nlohmann::ordered_json to_json(std::vector<Repeated> const& repeated, evaluator::Report const& alone) {
  auto json = nlohmann::ordered_json{{"schema", 1}, {"measurements", nlohmann::ordered_json::array()}};
  for (Repeated const& each : repeated)
    json["measurements"].push_back({{"total_us", each.total_us}, {"ratio", each.ratio}, {"promoted", each.promoted}});
  json["alone"] = evaluator::to_json(alone);
  return json;
}

std::string summary(std::vector<Repeated> const& repeated) {
  std::vector<double> ratios;
  for (Repeated const& each : repeated) ratios.push_back(each.ratio);
  auto const [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  auto const promoted = std::count_if(repeated.begin(), repeated.end(), [](Repeated const& each) { return each.promoted; });
  return fmt::format(
      "{} measurements beside itself: {} promoted; T over the recorded one from {:.4f} to {:.4f}, median {:.4f}, median "
      "absolute "
      "deviation {:.4f}\nThe build, the checks and the evidence are of one audit; only the measurement was repeated.\n",
      repeated.size(), promoted, *least, *most, evaluator::median(ratios), evaluator::spread(ratios));
}

Result<int> measure_against_itself(evaluator::Request request, Evaluate const& options, Console const& console) {
  spec::Specification const& specification = request.specification;
  std::optional<StageLine> line(std::in_place, console, "evaluating");
  std::optional<evaluator::Report> alone;
  std::map<std::string, double> recorded_us;
  std::vector<Repeated> repeated;
  request.progress = [&](std::string_view stage, double fraction) { line->stage(stage, fraction); };
  request.cancel = &Interrupt::flag();
  auto const done = [&](evaluator::Report const& report) {
    line->finish();
    std::optional<double> const total = report.total_us(specification);
    if (!alone) {
      alone = report;
      for (evaluator::WorkloadMeasurement const& workload : report.workloads) recorded_us[workload.id] = workload.latency_us;
      if (!options.json) print(report_text(report, console));
    } else if (total) {
      double const recorded = *alone->total_us(specification);
      bool const promoted = search::would_be_promoted(specification, recorded_us, recorded, report);
      repeated.push_back({*total / recorded, *total, promoted});
      fmt::print(options.json ? stderr : stdout, "{}/{}: T {}, {:.4f} of the recorded one, {}, {:.1f} s\n", repeated.size(),
                 options.against_itself, report::latency(*total), *total / recorded, promoted ? "promoted" : "not promoted",
                 report.seconds);
      std::fflush(options.json ? stderr : stdout);
    } else {
      fmt::print(stderr, "{}\n", failure_text(report));
    }
  };
  TIK_TRY(std::vector<evaluator::Report> const reports,
          evaluator::evaluate_beside_itself(request, options.against_itself, done));
  if (options.json) {
    print_json(to_json(repeated, *alone));
  } else if (!repeated.empty()) {
    print(summary(repeated));
  }
  return reports.size() == static_cast<std::size_t>(options.against_itself) + 1 && reports.back().verified() ? 0 : 1;
}

} // namespace

Result<int> execute(Evaluate const& options, Console const& console) {
  if (!options.bundle.empty() && !options.profile.empty())
    return input_error("--profile is for one source folder, not for a bundle: leave it out.");
  if (!options.bundle.empty()) return evaluate_bundle(options, console);
  if (options.specification.empty() || options.source.empty())
    return input_error("SPEC and SOURCE are required, or --bundle and --out. `tik evaluate --help` explains the command.");
  TIK_TRY(spec::Specification const specification, spec::load_specification(options.specification));
  if (!options.devices.empty() && specification.target == "cpu")
    return input_error(
        fmt::format("{}: the target is cpu: --devices names GPUs, so leave it out.", options.specification.string()));
  if (options.devices.size() > 1)
    return input_error("One implementation is evaluated on one GPU: name one device, or a --bundle for several.");
  TIK_CHECK(is_folder(options.source, "An implementation"));
  if (!options.incumbent.empty()) TIK_CHECK(is_folder(options.incumbent, "The incumbent"));
  TIK_TRY(ScratchFolder const scratch, ScratchFolder::temporary("tik"));
  std::filesystem::path const cache = scratch.path() / "cache", work = scratch.path() / "work";
  std::filesystem::create_directories(cache);
  std::filesystem::create_directories(work);

  Interrupt const interrupt;
  evaluator::Request request{.specification = specification,
                             .seal = spec::seal(specification),
                             .source = options.source,
                             .incumbent = std::nullopt,
                             .incumbent_latency_us = {},
                             .scratch = work,
                             .build_cache = cache,
                             .progress = {},
                             .cancel = nullptr,
                             .protections = nullptr,
                             .gpu_number = options.devices.empty() ? 0 : options.devices.front()};
  request.profile = options.profile;
  if (options.against_itself > 0) return measure_against_itself(std::move(request), options, console);
  if (!options.incumbent.empty()) {
    TIK_TRY(request.incumbent_latency_us, incumbent_latencies(request, options.incumbent, console));
    request.incumbent = options.incumbent;
  }
  TIK_TRY(evaluator::Report const report, evaluate(request, console, "evaluating"));
  if (options.json) {
    print_json(evaluator::to_json(report));
  } else {
    print(report_text(report, console));
    if (std::optional<double> const total = report.total_us(specification))
      print(fmt::format("T {}\n", report::latency(*total)));
  }
  return report.verified() ? 0 : 1;
}

} // namespace tik::cli
