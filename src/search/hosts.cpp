// Audits on another host: candidates go out as a bundle, and reports come back. What comes back counts only when its hashes are
// those of this search; the rules that decide what an audit means are those of any other audit.
#include <fmt/format.h>

#include <algorithm>

#include "src/evaluator/host.h"
#include "src/search/impl.h"

namespace tik::search {
namespace {

// A report that was fetched, with the implementation that it is about.
struct Fetched {
  ir::Implementation implementation;
  evaluator::HostReport entry;
};

// The audit that recorded this very report already, when the implementation has one.
Result<bool> recorded_already(ir::Store const& store, State const& state, Fetched const& fetched) {
  ImplementationState const& known = state.implementations.at(fetched.implementation.id);
  if (!known.audited) return false;
  TIK_TRY(ir::Audit const audit, store.audit(*known.audit));
  if (evaluator::to_json(audit.report) == evaluator::to_json(fetched.entry.report)) return true;
  return input_error(
      fmt::format("{} is audited already ({}), and by another report than the one given; an implementation is "
                  "audited once.",
                  fetched.entry.id, to_string(*known.audit)));
}

} // namespace

Result<evaluator::BundledSource> Search::Impl::bundled(ir::ImplementationId id) const {
  TIK_TRY(ir::Implementation const implementation, store.implementation(id));
  TIK_TRY(std::vector<SourceFile> files, sources.files(implementation.commit));
  return evaluator::BundledSource{to_string(id), implementation.source_sha256, std::move(files)};
}

Result<evaluator::Bundle> Search::bundle(std::vector<ir::ImplementationId> const& ids) const {
  Impl const& search = *impl_;
  evaluator::Bundle bundle;
  bundle.specification = search.specification;
  bundle.specification_file = search.identity.specification_file;
  bundle.baseline_us = search.identity.baseline_us;
  bundle.seal = search.identity.seal;
  if (search.state.incumbent) {
    TIK_TRY(bundle.incumbent, search.bundled(*search.state.incumbent));
    TIK_TRY(ir::Audit const audit, search.store.audit(*search.state.implementations.at(*search.state.incumbent).audit));
    bundle.incumbent_latency_us = latencies(audit.report);
  }
  std::set<ir::ImplementationId> wanted(ids.begin(), ids.end());
  if (ids.empty()) wanted = search.state.unaudited;
  if (wanted.empty()) return input_error("No implementation waits for an audit; `tik act submit` makes one.");
  for (ir::ImplementationId const id : wanted) {
    TIK_TRY(evaluator::BundledSource candidate, search.bundled(id));
    TIK_CHECK(search.not_audited(id));
    bundle.candidates.push_back(std::move(candidate));
  }
  return bundle;
}

Result<evaluator::Expected> Search::Impl::expected(ir::Implementation const& implementation,
                                                   evaluator::Report const& report) const {
  evaluator::Expected expected{identity.seal, implementation.source_sha256, {}};
  TIK_TRY(std::optional<ir::ImplementationId> const beside, store.implementation_with_source(report.incumbent_sha256));
  if (!beside || !state.implementations.at(*beside).promoted) {
    // What is no incumbent stays unknown, and a report beside it is refused; the present one makes that clear.
    TIK_TRY(ir::Implementation const incumbent, store.implementation(*state.incumbent));
    expected.incumbents[incumbent.source_sha256] = {};
    return expected;
  }
  TIK_TRY(ir::Audit const audit, store.audit(*state.implementations.at(*beside).audit));
  expected.incumbents[report.incumbent_sha256] = latencies(audit.report);
  return expected;
}

void Search::audit_on(evaluator::HostCommand command) { impl_->host = std::move(command); }

Result<std::vector<evaluator::HostReport>> Search::Impl::evaluate_on_host(evaluator::Bundle const& bundle, Observer* observer,
                                                                          std::atomic<bool> const* cancel) const {
  evaluator::HostTask task{bundle, layout.scratch(), {}, cancel};
  if (observer) {
    observer->stage("on the host", 0);
    task.say = [observer](std::string const& sentence) { observer->note(sentence); };
  }
  return evaluator::evaluate_on_host(*host, task);
}

Result<TakenIn> Search::audit_together(std::vector<ir::ImplementationId> const& ids, Observer* observer,
                                       std::atomic<bool> const* cancel) {
  Impl& search = *impl_;
  TIK_CHECK(search.writable());
  if (!search.host) return input_error("Several implementations are audited together on another host only: name a runner.");
  TIK_TRY(evaluator::Bundle const asked, bundle(ids));
  TIK_TRY(std::vector<evaluator::HostReport> reports, search.evaluate_on_host(asked, observer, cancel));
  for (evaluator::HostReport const& entry : reports) search.evaluated_seconds += stage_seconds(entry.report);
  return take_in(std::move(reports), observer);
}

Result<TakenIn> Search::take_in(std::vector<evaluator::HostReport> reports, Observer* observer) {
  Impl& search = *impl_;
  TIK_CHECK(search.writable());
  std::vector<Fetched> fetched;
  TakenIn result;
  // All of them are looked at before any is recorded, so that what does not match changes nothing.
  for (evaluator::HostReport& entry : reports) {
    TIK_TRY(ir::ImplementationId const id, ir::parse_id<'I'>(entry.id));
    TIK_TRY(ir::Implementation implementation, search.store.implementation(id));
    TIK_TRY(evaluator::Expected const expected, search.expected(implementation, entry.report));
    TIK_CHECK(evaluator::answers(entry, expected, search.specification));
    Fetched next{std::move(implementation), std::move(entry)};
    TIK_TRY(bool const known, recorded_already(search.store, search.state, next));
    if (known)
      result.known.push_back(id);
    else
      fetched.push_back(std::move(next));
  }
  std::sort(fetched.begin(), fetched.end(),
            [](Fetched const& a, Fetched const& b) { return a.implementation.id < b.implementation.id; });
  for (Fetched& next : fetched) {
    TIK_TRY(bool const settled, search.settles(next.entry.report));
    if (!settled) {
      result.held_back.push_back(next.implementation.id);
      continue;
    }
    TIK_TRY(ir::Audit audit, search.record(next.implementation, std::move(next.entry.report), observer));
    result.audits.push_back(std::move(audit));
  }
  return result;
}

} // namespace tik::search
