#include "src/evaluator/bundle_evaluation.h"

#include <fmt/format.h>

#include "src/base/files.h"
#include "src/base/json.h"
#include "src/evaluator/evaluator.h"
#include "src/evaluator/scratch.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;

// The report that an earlier evaluation left, when it is one on this candidate.
std::optional<Report> kept_report(BundleEvaluation const& evaluation, BundledSource const& candidate) {
  fs::path const file = report_file(evaluation.out, candidate.id);
  Result<std::string> const text = read_file(file);
  if (!text) return std::nullopt;
  Result<Json> const json = parse_json(*text, file.string());
  if (!json) return std::nullopt;
  Result<Report> report = report_from_json(*json);
  if (!report) return std::nullopt;
  HostReport entry{candidate.id, std::move(*report)};
  if (!answers(entry, expected_of(evaluation.bundle, candidate), evaluation.bundle.specification)) return std::nullopt;
  return std::move(entry.report);
}

Result<Report> evaluate_candidate(BundleEvaluation const& evaluation, BundledSource const& candidate, fs::path const& sources,
                                  std::optional<fs::path> const& incumbent, Protections const& protections) {
  fs::path const source = sources / ("candidate-" + candidate.id);
  TIK_CHECK(write_source_folder(source, candidate.files));
  Request request{.specification = evaluation.bundle.specification,
                  .seal = evaluation.bundle.seal,
                  .source = source,
                  .incumbent = incumbent,
                  .incumbent_latency_us = evaluation.bundle.incumbent_latency_us,
                  .scratch = evaluation.scratch,
                  .build_cache = evaluation.build_cache,
                  .progress = {},
                  .cancel = evaluation.cancel,
                  .protections = &protections};
  if (evaluation.progress)
    request.progress = [&](std::string_view stage, double fraction) { evaluation.progress(candidate, stage, fraction); };
  TIK_TRY(Report report, evaluate(request));
  TIK_CHECK(answers({candidate.id, report}, expected_of(evaluation.bundle, candidate), evaluation.bundle.specification));
  return report;
}

} // namespace

Result<std::vector<HostReport>> evaluate_bundle(BundleEvaluation const& evaluation) {
  Bundle const& bundle = evaluation.bundle;
  std::error_code error;
  fs::create_directories(evaluation.out, error);
  if (error)
    return machine_error(
        fmt::format("{}: cannot be created: {}; name a folder that may be written.", evaluation.out.string(), error.message()));
  TIK_TRY(ScratchFolder const sources, ScratchFolder::make(evaluation.scratch, "bundle"));
  std::optional<fs::path> incumbent;
  if (bundle.incumbent) {
    incumbent = sources.path() / "incumbent";
    TIK_CHECK(write_source_folder(*incumbent, bundle.incumbent->files));
  }
  TIK_TRY(Protections const protections, protections_for(bundle.specification, sources.path()));
  std::vector<HostReport> reports;
  for (BundledSource const& candidate : bundle.candidates) {
    std::optional<Report> kept = kept_report(evaluation, candidate);
    bool const was_there = kept.has_value();
    if (!was_there) {
      TIK_TRY(kept, evaluate_candidate(evaluation, candidate, sources.path(), incumbent, protections));
      TIK_CHECK(write_report(evaluation.out, {candidate.id, *kept}));
    }
    reports.push_back({candidate.id, std::move(*kept)});
    TIK_CHECK(write_index(evaluation.out, bundle, reports));
    if (evaluation.done) evaluation.done(reports.back(), was_there);
  }
  return reports;
}

} // namespace tik::evaluator
