// Audits the candidates of a bundle one after another, without a search.
#pragma once

#include <atomic>
#include <functional>

#include "src/evaluator/host_reports.h"

namespace tik::evaluator {

struct BundleEvaluation {
  Bundle const& bundle;
  std::filesystem::path out;     // where the reports go; made when it is not there
  std::filesystem::path scratch; // existing folder; everything else that is written lies below it
  std::filesystem::path build_cache;
  std::function<void(BundledSource const& candidate, std::string_view stage, double fraction)> progress; // may be empty
  // After every candidate. `kept`: its report was there already and was not made again.
  std::function<void(HostReport const& entry, bool kept)> done; // may be empty
  std::atomic<bool> const* cancel = nullptr;
};

// The reports in the order of the candidates. A report that is in `out` already and is about the same specification, source,
// incumbent and evaluator is kept, so that an evaluation that was stopped or killed goes on where it was. Every report is
// written as soon as it is there, and the index after it; an error or a cancellation leaves those that were finished.
Result<std::vector<HostReport>> evaluate_bundle(BundleEvaluation const& evaluation);

} // namespace tik::evaluator
