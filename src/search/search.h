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
#include "src/evaluator/host.h"
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
  virtual void note(std::string const& /*sentence*/) {} // for a person to read: a host that could not be reached
};

// Where the wall-clock time of one step went: the agent's two calls, the stages of the evaluator, and the engine, which is the
// rest.
struct StepTimes {
  double agent_seconds = 0, build_and_run_seconds = 0, total_seconds = 0;
  double engine_seconds() const { return total_seconds - agent_seconds - build_and_run_seconds; }
};

// sequential: an action waits until the offspring before it is audited. batch: it joins the implementations that wait for their
// audits, so that several attempts are audited together. Neither is taken while an audit waits for its decision.
enum class ActionOrder { sequential, batch };

// What became of reports that another host made.
struct TakenIn {
  std::vector<ir::Audit> audits;               // recorded, in order
  std::vector<ir::ImplementationId> known;     // these very reports were recorded before
  std::vector<ir::ImplementationId> held_back; // not recorded: a gain that has to be measured beside the present incumbent
};

// Who evaluates a root instead of this process: gets the bundle with the root as its only candidate, and hands the report back.
using RootJudge = std::function<Result<evaluator::Report>(evaluator::Bundle const&)>;

class Search {
 public:
  // Initialization: audits the root, refuses it with its reason, or seals the search. Nothing is left in `folder` on an error.
  // Without a judge this process evaluates the root itself.
  static Result<Search> create(std::filesystem::path const& folder, std::filesystem::path const& spec_file,
                               std::filesystem::path const& root, Observer* observer, std::atomic<bool> const* cancel,
                               RootJudge const& judge = {});
  // The bundle with which another host audits a root, before there is a search.
  static Result<evaluator::Bundle> root_bundle(std::filesystem::path const& spec_file, std::filesystem::path const& root);
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
  // runs: what the audits of earlier ones took, by the records, and the wall-clock time of this one. An agent that breaks a
  // rule ends the run with an input error that names the rule; cancel ends it with StopReason::interrupted within a second,
  // nothing half recorded.
  Result<StopReason> run(agent::Agent& agent, Observer& observer, std::atomic<bool> const& cancel);

  // The single steps, also for step commands. Each records completely or not at all.
  //
  // Writes the source of the parents into `folder`, a merge of two as Workspace::check_out says.
  Result<agent::Workspace::CheckedOut> check_out(std::vector<ir::ImplementationId> const& parents,
                                                 std::filesystem::path const& folder,
                                                 OldContent old_content = OldContent::refuse) const;
  // Takes the edited folder back as a new implementation. Refused, with a sentence: parents or opportunity against the rules,
  // words missing, no change, the same source as another implementation, a step that is not finished (audit or decision
  // outstanding, as `order` says).
  Result<std::pair<ir::Action, ir::Implementation>> record_action(agent::ActionDraft const& draft,
                                                                  std::filesystem::path const& folder,
                                                                  std::string const& agent_name,
                                                                  ActionOrder order = ActionOrder::sequential);
  // What record_action would refuse, with its sentence; records nothing.
  Result<void> check_action(agent::ActionDraft const& draft, std::filesystem::path const& folder);
  // Builds an edited folder as its audit would, contained and limited like it, and judges nothing: the stage "build" of a
  // report.
  Result<evaluator::Stage> try_build(std::filesystem::path const& folder, std::atomic<bool> const* cancel);
  // Audits run on this host from now on, instead of in this process.
  void audit_on(evaluator::HostCommand command);
  // Audits in this process look at these workloads with a profiler from now on; only on a GPU.
  void profile(std::vector<std::string> workloads);
  // These implementations, or all that wait for their audits when none is named, with the incumbent and the sealed
  // specification, for another host. Refuses one that has its audit.
  Result<evaluator::Bundle> bundle(std::vector<ir::ImplementationId> const& ids) const;
  // Records reports of another host as audits, in the order of their implementations. All are refused, and nothing is recorded,
  // when one is not about this search's specification, sources, evaluator and an incumbent of it.
  Result<TakenIn> take_in(std::vector<evaluator::HostReport> reports, Observer* observer);
  // Has these implementations, or all that wait, audited by the host in one bundle, and records its reports. Needs audit_on().
  Result<TakenIn> audit_together(std::vector<ir::ImplementationId> const& ids, Observer* observer,
                                 std::atomic<bool> const* cancel);
  // Evaluates a recorded implementation that has no audit yet and records the report. An error of the machine records nothing.
  Result<ir::Audit> audit(ir::ImplementationId implementation, Observer* observer, std::atomic<bool> const* cancel);
  // Records decisions, follow-ups and withdrawals in one transaction, after every rule on every one of them holds.
  Result<std::vector<ir::LineageDecision>> record_management(agent::ManagementDraft const& draft, ir::AuditId audit,
                                                             std::string const& agent_name);
  // An opportunity of a person, outside any decision; and a pending one taken back with its reason.
  Result<ir::Opportunity> propose(ir::Opportunity opportunity);
  Result<ir::Withdrawal> withdraw(ir::Withdrawal withdrawal);

  // The tokens of one attempt to call a model.
  Result<ir::ModelUsage> record_usage(ir::ModelUsage usage);

  std::vector<StepTimes> const& step_times() const; // of the steps of this process

 private:
  struct Impl;
  friend struct Impl;
  struct Prepared;
  Result<Prepared> prepare_action(agent::ActionDraft const& draft, std::filesystem::path const& folder,
                                  std::string const& agent_name, ActionOrder order);
  Result<bool> take_action(agent::Agent& agent, Observer& observer, StepTimes& times, std::atomic<bool> const& cancel);
  Result<void> manage_lineage(agent::Agent& agent, Observer& observer, StepTimes& times);
  explicit Search(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace tik::search
