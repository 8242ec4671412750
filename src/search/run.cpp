// The loop of the workflow. What to do next follows from the state alone, so a process that was killed anywhere goes on where
// it stood.
#include <fmt/format.h>

#include <chrono>

#include "src/search/impl.h"

namespace tik::search {
namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The agent's folder under DIR/work. The time for checking out is the workflow's, not the agent's.
class WorkFolder : public agent::Workspace {
 public:
  WorkFolder(Search& search, std::filesystem::path folder, std::atomic<bool> const& cancel)
      : search_(search), folder_(std::move(folder)), cancel_(cancel) {}

  Result<CheckedOut> check_out(std::vector<ir::ImplementationId> const& parents) override {
    Stopwatch const watch;
    TIK_TRY(CheckedOut checked_out, search_.check_out(parents, folder_, OldContent::replace));
    parents_ = parents;
    checkout_seconds_ += watch.seconds();
    return checked_out;
  }

  Result<evaluator::Stage> build() override {
    Stopwatch const watch;
    Result<evaluator::Stage> stage = search_.try_build(folder_, &cancel_);
    build_seconds_ += watch.seconds();
    return stage;
  }

  Result<void> check(agent::ActionDraft const& draft) override {
    if (draft.parents != parents_) return input_error("The parents that it names are not those that it checked out last.");
    return search_.check_action(draft, folder_);
  }

  std::filesystem::path const& folder() const { return folder_; }
  std::vector<ir::ImplementationId> const& parents() const { return parents_; }
  double checkout_seconds() const { return checkout_seconds_; }
  double build_seconds() const { return build_seconds_; }

 private:
  Search& search_;
  std::filesystem::path folder_;
  std::atomic<bool> const& cancel_;
  std::vector<ir::ImplementationId> parents_;
  double checkout_seconds_ = 0, build_seconds_ = 0;
};

tl::unexpected<Error> blame(Error error, agent::Agent const& agent) {
  error.message = fmt::format("The agent \"{}\" broke a rule, and nothing of it was recorded: {}", agent.name(), error.message);
  return tl::unexpected(std::move(error));
}

} // namespace

Result<bool> Search::take_action(agent::Agent& agent, Observer& observer, StepTimes& times, std::atomic<bool> const& cancel) {
  WorkFolder workspace(*this, impl_->layout.work() / "action", cancel);
  Stopwatch const watch;
  TIK_TRY(std::optional<agent::ActionDraft> const draft, agent.act(view(), workspace));
  times.agent_seconds += watch.seconds() - workspace.checkout_seconds() - workspace.build_seconds();
  times.build_and_run_seconds += workspace.build_seconds();
  if (!draft) return false;
  if (draft->parents != workspace.parents())
    return blame({ErrorKind::input, "the parents that it names are not those that it checked out last."}, agent);
  auto const recorded = record_action(*draft, workspace.folder(), agent.name());
  if (!recorded && recorded.error().kind == ErrorKind::input) return blame(recorded.error(), agent);
  if (!recorded) return tl::unexpected(recorded.error());
  observer.acted(recorded->first);
  return true;
}

Result<void> Search::manage_lineage(agent::Agent& agent, Observer& observer, StepTimes& times) {
  ir::AuditId const audit = *impl_->state.awaiting_decision;
  Stopwatch const watch;
  TIK_TRY(agent::ManagementDraft const draft, agent.manage(view(), audit));
  times.agent_seconds += watch.seconds();
  auto const recorded = record_management(draft, audit, agent.name());
  if (!recorded && recorded.error().kind == ErrorKind::input) return blame(recorded.error(), agent);
  if (!recorded) return tl::unexpected(recorded.error());
  for (ir::LineageDecision const& decision : *recorded) observer.decided(decision);
  return {};
}

// Seconds count over all runs: those of earlier runs are read from the records, as the time their audits took; this run's are
// its wall-clock time.
Result<StopReason> Search::run(agent::Agent& agent, Observer& observer, std::atomic<bool> const& cancel) {
  Impl& search = *impl_;
  TIK_CHECK(search.writable());
  double const earlier_seconds = search.state.audit_seconds;
  Stopwatch const run_watch;
  StepTimes times;
  std::optional<Stopwatch> step; // of a step whose action this run took: one that a crash cut apart has no time of its own
  double evaluated_before = search.evaluated_seconds;
  for (;;) {
    if (cancel) return StopReason::interrupted;
    if (search.state.awaiting_audit) {
      auto const audited = audit(*search.state.awaiting_audit, &observer, &cancel);
      if (!audited && audited.error().kind == ErrorKind::cancelled) return StopReason::interrupted;
      if (!audited) return tl::unexpected(audited.error());
    } else if (search.state.awaiting_decision) {
      TIK_CHECK(manage_lineage(agent, observer, times));
      if (!step) continue;
      times.build_and_run_seconds += search.evaluated_seconds - evaluated_before;
      times.total_seconds = step->seconds();
      search.step_times.push_back(times);
      step.reset();
    } else {
      if (auto const reason = should_stop(search.specification.stopping, search.state, earlier_seconds + run_watch.seconds()))
        return *reason;
      times = {};
      step.emplace();
      evaluated_before = search.evaluated_seconds;
      TIK_TRY(bool const acted, take_action(agent, observer, times, cancel));
      if (!acted) return StopReason::no_opportunity;
    }
  }
}

} // namespace tik::search
