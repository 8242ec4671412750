// Audit (paper, section 5): the evaluator's verdict on an offspring, beside the incumbent in the same run.
#include <fmt/format.h>

#include "src/search/impl.h"

namespace tik::search {
namespace {

// The tree that was judged must be the one on record, under the sealed specification.
Result<void> is_about(evaluator::Report const& report, ir::Implementation const& implementation, std::string const& seal) {
  if (report.source_sha256 != implementation.source_sha256)
    return damage_error(
        fmt::format("{}: the source tree at commit {:.12} hashes to {:.12}..., and its record says {:.12}...; the sources are "
                    "damaged: see `tik verify`.",
                    to_string(implementation.id), implementation.commit, report.source_sha256, implementation.source_sha256));
  if (report.specification_sha256 != seal)
    return damage_error(
        fmt::format("{}: the report was made under the specification {:.12}..., not under the sealed {:.12}....",
                    to_string(implementation.id), report.specification_sha256, seal));
  return {};
}

} // namespace

Result<void> Search::Impl::copy_incumbent() {
  if (!state.incumbent || (incumbent && incumbent->id == *state.incumbent)) return {};
  incumbent.reset();
  TIK_TRY(ir::Implementation const implementation, store.implementation(*state.incumbent));
  TIK_TRY(ir::Audit const audit, store.audit(*state.implementations.at(*state.incumbent).audit));
  TIK_CHECK(sources.check_out(implementation.commit, incumbent_folder(), OldContent::replace));
  IncumbentCopy copy{implementation.id, implementation.source_sha256, {}};
  for (evaluator::WorkloadMeasurement const& entry : audit.report.workloads) copy.latency_us[entry.id] = entry.latency_us;
  incumbent = std::move(copy);
  return {};
}

Result<evaluator::Request> Search::Impl::request_for(std::filesystem::path const& source, std::atomic<bool> const* cancel) {
  if (!protections) {
    TIK_TRY(protections, evaluator::protections_for(specification, layout.scratch()));
  }
  return evaluator::Request{.specification = specification,
                            .seal = identity.seal,
                            .source = source,
                            .incumbent = {},
                            .incumbent_latency_us = {},
                            .scratch = layout.scratch(),
                            .build_cache = layout.build_cache(),
                            .progress = {},
                            .cancel = cancel,
                            .protections = &*protections};
}

Result<ir::Audit> Search::audit(ir::ImplementationId id, Observer* observer, std::atomic<bool> const* cancel) {
  Impl& search = *impl_;
  TIK_CHECK(search.writable());
  TIK_TRY(ir::Implementation const implementation, search.store.implementation(id));
  if (auto const& known = search.state.implementations.at(id); known.audited)
    return input_error(
        fmt::format("{} is audited already ({}); an implementation is audited once.", to_string(id), to_string(*known.audit)));
  if (std::exchange(search.candidate, std::nullopt) != id)
    TIK_CHECK(search.sources.check_out(implementation.commit, search.candidate_folder(), OldContent::replace));
  TIK_CHECK(search.copy_incumbent());
  TIK_TRY(evaluator::Request request, search.request_for(search.candidate_folder(), cancel));
  if (search.incumbent) {
    request.incumbent = search.incumbent_folder();
    request.incumbent_latency_us = search.incumbent->latency_us;
  }
  if (observer) request.progress = [observer](std::string_view stage, double fraction) { observer->stage(stage, fraction); };
  TIK_TRY(evaluator::Report report, evaluator::evaluate(request));
  search.evaluated_seconds += stage_seconds(report);
  TIK_CHECK(is_about(report, implementation, search.identity.seal));
  if (search.incumbent && !report.incumbent_sha256.empty() && report.incumbent_sha256 != search.incumbent->source_sha256)
    return damage_error(fmt::format("{}: the incumbent's source in {} is not what is recorded; run the search again.",
                                    to_string(id), search.incumbent_folder().string()));

  bool const measured = report.measured(search.specification);
  bool const limits = measured && within_limits(search.specification, search.identity.baseline_us, report);
  std::optional<double> const total_us = report.total_us(search.specification);
  ir::Audit audit;
  audit.implementation = id;
  audit.report = std::move(report);
  TIK_TRY(audit, search.store.append(std::move(audit), measured, limits, total_us));
  TIK_CHECK(refresh(search.state, search.store));
  TIK_CHECK(prune_build_cache(search.layout));
  if (observer) observer->audited(audit, search.state, search.state.implementations.at(id).promoted);
  return audit;
}

} // namespace tik::search
