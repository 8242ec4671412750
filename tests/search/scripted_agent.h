// An agent that follows a list of edits: the workflow's own tests need no judgement, only actions that are known beforehand.
#pragma once

#include <vector>

#include "src/base/files.h"
#include "src/search/search.h"

namespace tik::search::test {

struct ScriptedStep {
  std::vector<ir::ImplementationId> parents;
  std::string file, find, replace; // no file: nothing is edited, as for a merge
};

class ScriptedAgent : public agent::Agent {
 public:
  explicit ScriptedAgent(std::vector<ScriptedStep> steps) : steps_(std::move(steps)) {}

  std::string name() const override { return "script"; }

  // The step is the one after those that were audited, so a resumed search goes on in the script where it stopped.
  Result<std::optional<agent::ActionDraft>> act(agent::View const& view, agent::Workspace& workspace) override {
    auto const next = static_cast<std::size_t>(view.state.steps);
    if (next >= steps_.size() || view.state.pending.empty()) return std::nullopt;
    ScriptedStep const& step = steps_[next];
    TIK_TRY(agent::Workspace::CheckedOut const checked_out, workspace.check_out(step.parents));
    if (!step.file.empty()) TIK_CHECK(edit(checked_out.folder / step.file, step));
    agent::ActionDraft draft;
    draft.opportunity = *view.state.pending.begin();
    draft.parents = step.parents;
    draft.workloads = {view.specification.workloads.front().id};
    draft.scope = "one edit of a script";
    draft.expected_effect = "other instructions";
    draft.contradiction = "an unchanged latency";
    return draft;
  }

  // Verified offspring are continued, and there is always one opportunity that names every active implementation.
  Result<agent::ManagementDraft> manage(agent::View const& view, ir::AuditId audit) override {
    ir::ImplementationId const audited = view.state.audits.at(audit);
    search::ImplementationState const& state = view.state.implementations.at(audited);
    agent::DecisionDraft decision{state.verified ? audited : state.parents.front(),
                                  "as the script has it",
                                  ir::BranchStatus::continued,
                                  "the script goes on",
                                  {},
                                  {}};
    ir::Opportunity opportunity;
    opportunity.mechanism = "the next edit of the script";
    opportunity.workloads = {view.specification.workloads.front().id};
    opportunity.evidence = {audit};
    opportunity.implementations.assign(view.state.frontier.begin(), view.state.frontier.end());
    if (state.verified && !view.state.frontier.contains(audited)) opportunity.implementations.push_back(audited);
    decision.follow_ups.push_back(std::move(opportunity));
    return agent::ManagementDraft{{std::move(decision)}, {}};
  }

 private:
  static Result<void> edit(std::filesystem::path const& file, ScriptedStep const& step) {
    TIK_TRY(std::string content, read_file(file));
    std::size_t const place = content.find(step.find);
    if (place == std::string::npos) return input_error(file.string() + ": the script's text is not there: " + step.find);
    return write_file(file, content.replace(place, step.find.size(), step.replace));
  }

  std::vector<ScriptedStep> steps_;
};

class SilentObserver : public Observer {
 public:
  void stage(std::string_view, double) override {}
  void acted(ir::Action const&) override {}
  void audited(ir::Audit const&, State const&, bool) override {}
  void decided(ir::LineageDecision const&) override {}
};

} // namespace tik::search::test
