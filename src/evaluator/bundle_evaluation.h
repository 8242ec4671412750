// Audits the candidates of a bundle without a search: one after another, or on several GPUs side by side.
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
  // After every candidate. `kept`: its report was there already and was not made again. Neither this nor `progress` is called
  // while one of them runs.
  std::function<void(HostReport const& entry, bool kept)> done; // may be empty
  std::atomic<bool> const* cancel = nullptr;
  // The GPUs, as nvidia-smi numbers them; empty: the first. Each audits one candidate at a time beside an incumbent of its own,
  // with an equal part of the processors. Only for a specification that needs a GPU.
  std::vector<int> gpus = {};
};

// The reports in the order of the candidates. A report that is in `out` already and is about the same specification, source,
// incumbent and evaluator is kept, so that an evaluation that was stopped or killed goes on where it was. Every report is
// written as soon as it is there, and the index after it; an error or a cancellation leaves those that were finished.
Result<std::vector<HostReport>> evaluate_bundle(BundleEvaluation const& evaluation);

} // namespace tik::evaluator
