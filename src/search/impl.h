// What a Search holds. Private to this folder.
#pragma once

#include <utility>

#include "src/search/layout.h"
#include "src/search/search.h"
#include "src/search/writer_lock.h"

namespace tik::search {

// What every audit needs of the incumbent, read from the records once for each incumbent.
struct IncumbentCopy {
  ir::ImplementationId id;
  std::string source_sha256;
  std::map<std::string, double> latency_us;
};

struct Search::Impl {
  Layout layout;
  std::optional<WriterLock> lock; // in write mode
  spec::Specification specification;
  ir::SearchIdentity identity;
  ir::Store store;
  ir::SourceRepository sources;
  State state;
  std::vector<StepTimes> step_times;
  double evaluated_seconds = 0;                       // spent in the evaluator's stages by this process
  std::optional<ir::ImplementationId> candidate = {}; // whose source lies in work/candidate, untouched since it was checked out
  std::optional<IncumbentCopy> incumbent = {};        // whose source lies in work/incumbent
  std::optional<evaluator::Protections> protections = {}; // of this machine, probed by the first audit
  std::optional<evaluator::HostCommand> host = {};        // where audits run, when not in this process
  std::vector<std::string> profile = {};                  // workloads that audits in this process look at with a profiler

  // An input error when this search is open for reading only.
  Result<void> writable() const;
  Result<std::string> commit_of(ir::ImplementationId id) const;
  std::filesystem::path candidate_folder() const { return layout.work() / "candidate"; }
  std::filesystem::path incumbent_folder() const { return layout.work() / "incumbent"; }
  // Sees to it that `incumbent` is about the present one.
  Result<void> copy_incumbent();
  // The evaluation of a folder, without an incumbent.
  Result<evaluator::Request> request_for(std::filesystem::path const& source, std::atomic<bool> const* cancel);

  // An input error when it is audited.
  Result<void> not_audited(ir::ImplementationId id) const;
  Result<evaluator::BundledSource> bundled(ir::ImplementationId id) const;
  // What a report on this implementation must be about; `report` says which incumbent to look for.
  Result<evaluator::Expected> expected(ir::Implementation const& implementation, evaluator::Report const& report) const;
  Result<evaluator::Report> evaluate_here(ir::Implementation const& implementation, Observer* observer,
                                          std::atomic<bool> const* cancel);
  Result<std::vector<evaluator::HostReport>> evaluate_on_host(evaluator::Bundle const& bundle, Observer* observer,
                                                              std::atomic<bool> const* cancel) const;
  // Whether the report settles that its implementation is faster than the present incumbent, or that it is not: is_settled().
  Result<bool> settles(evaluator::Report const& report) const;
  // A report that is about this implementation becomes its audit.
  Result<ir::Audit> record(ir::Implementation const& implementation, evaluator::Report report, Observer* observer);

  // Opens the folder with a lock that is held already, or none for reading.
  static Result<std::unique_ptr<Impl>> load(Layout layout, std::optional<WriterLock> lock);
};

// The manifest among the files of a source folder, refused unless it is made for this specification.
Result<spec::Manifest> manifest_for(spec::Specification const& specification, std::filesystem::path const& folder,
                                    std::vector<SourceFile> const& files);

// The latencies that a report found, by workload.
std::map<std::string, double> latencies(evaluator::Report const& report);

// Seconds spent in the stages of a report: building, running and reading evidence.
double stage_seconds(evaluator::Report const& report);

} // namespace tik::search
