// What a step costs on a long history against a short one, in everything but building, running and the agent. Steps are taken
// in turn on both searches, so that a busy machine is busy for both. The searches are those of write_synthetic_history; their
// files are edited by one line at a time. Prints both medians and their ratio, one `name: value` a line.
//   engine_step_growth SHORT LONG [STEPS]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "bench/engine/silent_observer.h"
#include "src/base/files.h"
#include "src/evaluator/evaluator.h"

namespace {

using tik::Result;

// Takes the newest opportunity on an active implementation, adds one line to a file of it, and proposes as many opportunities
// as it takes.
class OneLineAgent : public tik::agent::Agent {
 public:
  std::string name() const override { return "one line"; }

  Result<std::optional<tik::agent::ActionDraft>> act(tik::agent::View const& view, tik::agent::Workspace& workspace) override {
    auto const& state = view.state;
    auto const active = [&](tik::ir::OpportunityId id) {
      auto const& implementations = state.opportunities.at(id).implementations;
      return std::all_of(implementations.begin(), implementations.end(), [&](auto i) { return state.frontier.contains(i); });
    };
    auto const found = std::find_if(state.pending.rbegin(), state.pending.rend(), active);
    if (found == state.pending.rend()) return std::nullopt;
    tik::agent::ActionDraft draft;
    draft.opportunity = *found;
    draft.parents = state.opportunities.at(*found).implementations;
    TIK_TRY(auto const checked_out, workspace.check_out(draft.parents));
    auto const file = checked_out.folder / "full.cpp";
    TIK_TRY(auto content, tik::read_file(file));
    content += fmt::format("// step {}\n", state.steps);
    TIK_CHECK(tik::write_file(file, content, tik::Flush::no));
    draft.workloads = {view.specification.workloads.front().id};
    draft.scope = "one line of one file";
    draft.expected_effect = "none: the line is a comment";
    draft.contradiction = "another latency";
    return draft;
  }

  Result<tik::agent::ManagementDraft> manage(tik::agent::View const& view, tik::ir::AuditId audit) override {
    auto const audited = view.state.audits.at(audit);
    auto const& state = view.state.implementations.at(audited);
    auto const branch = state.verified ? audited : state.parents.front();
    tik::agent::DecisionDraft decision{
        branch, "a comment changes nothing", tik::ir::BranchStatus::continued, "the next step", {}, {}};
    tik::ir::Opportunity opportunity;
    opportunity.mechanism = "one more line";
    opportunity.workloads = {view.specification.workloads.front().id};
    opportunity.evidence = {audit};
    opportunity.implementations = {branch};
    decision.follow_ups.push_back(std::move(opportunity));
    return tik::agent::ManagementDraft{{std::move(decision)}, {}};
  }
};

struct Measured {
  tik::search::Search search;
  double median_ms() const {
    std::vector<double> times;
    for (auto const& step : search.step_times()) times.push_back(step.engine_seconds() * 1e3);
    std::sort(times.begin(), times.end());
    return times.empty() ? 0 : times[times.size() / 2];
  }
};

Result<void> measure(std::array<std::filesystem::path, 2> const& folders, int steps) {
  std::vector<Measured> searches;
  for (auto const& folder : folders) {
    TIK_TRY(auto search, tik::search::Search::open(folder, tik::search::Search::Mode::write));
    searches.push_back({std::move(search)});
  }
  OneLineAgent agent;
  for (int step = 0; step < steps; ++step) {
    for (auto& entry : searches) {
      tik::bench::SilentObserver observer(1);
      TIK_TRY(auto const reason, entry.search.run(agent, observer, observer.stop()));
      if (reason != tik::search::StopReason::interrupted)
        return tik::input_error(fmt::format("The search stopped before its step: {}.", to_string(reason)));
    }
  }
  double const before = searches[0].median_ms(), after = searches[1].median_ms();
  fmt::print("step_ms_short: {:.2f}\nstep_ms_long: {:.2f}\nstep_growth: {:.2f}\n", before, after, after / before);
  return {};
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "evaluator-worker") return tik::evaluator::worker_main(argc, argv);
  if (argc < 3 || argc > 4) {
    fmt::print(stderr, "usage: engine_step_growth SHORT LONG [STEPS]\n");
    return 2;
  }
  auto const measured = measure({argv[1], argv[2]}, argc > 3 ? std::max(1, std::atoi(argv[3])) : 9);
  if (measured) return 0;
  fmt::print(stderr, "engine_step_growth: {}\n", measured.error().message);
  return 3;
}
