// A search: a folder with the sealed specification, the records and the sources, and the workflow that drives an agent through
// action, audit and lineage management (paper, section 5).
//
//   DIR/search.db     records (ir::Store)
//   DIR/sources.git   source trees (ir::SourceRepository)
//   DIR/spec.toml     a copy for people; the store's text is what counts, and a difference is refused
//   DIR/lock          held while a process may write
//   DIR/work/         scratch; may be deleted at any time
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>

#include "src/agent/agent.h"
#include "src/evaluator/evaluator.h"
#include "src/search/rules.h"

namespace tik::search {

// What happens, for progress lines. All calls come from the thread of run().
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void stage(std::string_view stage, double fraction) = 0; // of the audit in progress
  virtual void acted(ir::Action const& action) = 0;
  virtual void audited(ir::Audit const& audit, State const& state, bool promoted) = 0;
  virtual void decided(ir::LineageDecision const& decision) = 0;
};

struct StepTimes {
  double agent_seconds = 0, build_and_run_seconds = 0, total_seconds = 0;
}; // overhead = total - agent - build_and_run

class Search {
 public:
  // Initialization: audits the root, refuses it with its reason, or seals the search. Nothing is left in `folder` on an error.
  static Result<Search> create(std::filesystem::path const& folder, std::filesystem::path const& spec_file,
                               std::filesystem::path const& root, Observer* observer, std::atomic<bool> const* cancel);
  enum class Mode { read, write }; // write takes the lock: a second writer is refused with the first one's process id
  static Result<Search> open(std::filesystem::path const& folder, Mode mode);
  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;
  ~Search();

  spec::Specification const& specification() const;
  ir::SearchIdentity const& identity() const;
  State const& state() const;
  ir::Store const& store() const;
  ir::SourceRepository const& sources() const;
  agent::View view() const;

  // Steps until a stopping rule holds; finishes first what a crash left half done. Limits on seconds count the time of all
  // runs.
  Result<StopReason> run(agent::Agent& agent, Observer& observer, std::atomic<bool> const& cancel);

  // The single steps, also for step commands. Each records completely or not at all.
  Result<std::pair<ir::Action, ir::Implementation>> record_action(agent::ActionDraft const& draft,
                                                                  std::filesystem::path const& folder,
                                                                  std::string const& agent_name);
  Result<ir::Audit> audit(ir::ImplementationId implementation, Observer* observer, std::atomic<bool> const* cancel);
  Result<std::vector<ir::LineageDecision>> record_management(agent::ManagementDraft const& draft, ir::AuditId audit,
                                                             std::string const& agent_name);
  Result<ir::Opportunity> propose(ir::Opportunity opportunity);
  Result<ir::Withdrawal> withdraw(ir::Withdrawal withdrawal);

  std::vector<StepTimes> const& step_times() const; // of this process

 private:
  struct Impl;
  explicit Search(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace tik::search
