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
  incumbent = IncumbentCopy{implementation.id, implementation.source_sha256, latencies(audit.report)};
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

Result<void> Search::Impl::not_audited(ir::ImplementationId id) const {
  if (auto const& known = state.implementations.at(id); known.audited)
    return input_error(
        fmt::format("{} is audited already ({}); an implementation is audited once.", to_string(id), to_string(*known.audit)));
  return {};
}

Result<evaluator::Report> Search::Impl::evaluate_here(ir::Implementation const& implementation, Observer* observer,
                                                      std::atomic<bool> const* cancel) {
  if (std::exchange(candidate, std::nullopt) != implementation.id)
    TIK_CHECK(sources.check_out(implementation.commit, candidate_folder(), OldContent::replace));
  TIK_CHECK(copy_incumbent());
  TIK_TRY(evaluator::Request request, request_for(candidate_folder(), cancel));
  if (incumbent) {
    request.incumbent = incumbent_folder();
    request.incumbent_latency_us = incumbent->latency_us;
  }
  request.profile = profile;
  if (observer) request.progress = [observer](std::string_view stage, double fraction) { observer->stage(stage, fraction); };
  TIK_TRY(evaluator::Report report, evaluator::evaluate(request));
  TIK_CHECK(is_about(report, implementation, identity.seal));
  if (incumbent && !report.incumbent_sha256.empty() && report.incumbent_sha256 != incumbent->source_sha256)
    return damage_error(fmt::format("{}: the incumbent's source in {} is not what is recorded; run the search again.",
                                    to_string(implementation.id), incumbent_folder().string()));
  TIK_CHECK(prune_build_cache(layout));
  return report;
}

Result<bool> Search::Impl::settles(evaluator::Report const& report) const {
  if (!state.incumbent) return true;
  TIK_TRY(ir::Implementation const implementation, store.implementation(*state.incumbent));
  TIK_TRY(ir::Audit const audit, store.audit(*state.implementations.at(*state.incumbent).audit));
  return is_settled(specification, report, implementation.source_sha256, audit.report);
}

Result<ir::Audit> Search::Impl::record(ir::Implementation const& implementation, evaluator::Report report, Observer* observer) {
  bool const measured = report.measured(specification);
  bool const limits = measured && within_limits(specification, identity.baseline_us, report);
  std::optional<double> const total_us = report.total_us(specification);
  ir::Audit audit;
  audit.implementation = implementation.id;
  audit.report = std::move(report);
  TIK_TRY(audit, store.append(std::move(audit), measured, limits, total_us));
  TIK_CHECK(refresh(state, store));
  if (observer) observer->audited(audit, state, state.implementations.at(implementation.id).promoted);
  return audit;
}

void Search::profile(std::vector<std::string> workloads) { impl_->profile = std::move(workloads); }

Result<ir::Audit> Search::audit(ir::ImplementationId id, Observer* observer, std::atomic<bool> const* cancel) {
  Impl& search = *impl_;
  TIK_CHECK(search.writable());
  TIK_TRY(ir::Implementation const implementation, search.store.implementation(id));
  TIK_CHECK(search.not_audited(id));
  Result<evaluator::Report> report = tl::unexpected(Error{});
  if (search.host) {
    TIK_TRY(evaluator::Bundle const asked, bundle({id}));
    TIK_TRY(std::vector<evaluator::HostReport> reports, search.evaluate_on_host(asked, observer, cancel));
    report = std::move(reports.front().report);
  } else {
    report = search.evaluate_here(implementation, observer, cancel);
  }
  if (!report) return tl::unexpected(std::move(report.error()));
  search.evaluated_seconds += stage_seconds(*report);
  return search.record(implementation, std::move(*report), observer);
}

} // namespace tik::search
