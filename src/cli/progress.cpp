#include "src/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/cli/report_text.h"
#include "src/report/format.h"

namespace tik::cli {
namespace {

std::string percent(double fraction) { return fmt::format("{:.0f} %", 100 * std::clamp(fraction, 0.0, 1.0)); }

std::string outcome_of(ir::Audit const& audit, search::ImplementationState const& state, bool promoted) {
  if (std::string failure = failure_text(audit.report); !failure.empty()) return failure;
  if (promoted) return "promoted";
  if (!state.measured) return "verified, not measured on every workload";
  return state.within_limits ? "verified, not faster" : "verified, over a limit";
}

} // namespace

Progress::Progress(Console const& console, spec::Specification const& specification, search::State const& state)
    : console_(console), specification_(specification), line_(stdout, console.terminal) {
  if (state.incumbent) incumbent_ = to_string(*state.incumbent);
  speedup_ = state.speedup();
  steps_ = state.steps;
  patience_ = state.patience_used;
  doing_ = "starting";
  show(true);
}

void Progress::show(bool force) {
  std::string const steps =
      specification_.stopping.steps ? fmt::format("{}/{}", steps_, *specification_.stopping.steps) : std::to_string(steps_);
  line_.show(fmt::format("step {} | best {} {} | patience {}/{} | {}{}", steps, incumbent_, report::ratio(speedup_), patience_,
                         specification_.stopping.patience, doing_, last_.empty() ? "" : " | last: " + last_),
             force);
}

void Progress::stage(std::string_view stage, double fraction) {
  doing_ = fmt::format("{}{} {}", action_ ? to_string(action_->result) + ' ' : "", stage, percent(fraction));
  show(false);
}

void Progress::acted(ir::Action const& action) {
  action_ = action;
  doing_ = fmt::format("{} {}", to_string(action.result), to_string(action.form));
  show(true);
}

void Progress::audited(ir::Audit const& audit, search::State const& state, bool promoted) {
  steps_ = state.steps;
  patience_ = state.patience_used;
  speedup_ = state.speedup();
  if (state.incumbent) incumbent_ = to_string(*state.incumbent);
  search::ImplementationState const& audited = state.implementations.at(audit.implementation);
  std::string const outcome = outcome_of(audit, audited, promoted);
  std::string const own =
      audited.total_us && *audited.total_us > 0 ? report::ratio(state.root_total_us / *audited.total_us) : "";
  last_ = fmt::format("{} {}{}", to_string(audit.implementation), outcome, own.empty() ? "" : " at " + own);
  doing_ = "managing";

  std::string text = fmt::format("step {}: {}", steps_, to_string(audit.implementation));
  if (action_ && action_->result == audit.implementation)
    text += fmt::format(" ({} from {}, {})", to_string(action_->form), report::id_list(action_->parents),
                        to_string(action_->opportunity));
  text += fmt::format(": {}{}; best {} {}, patience {}/{}", outcome, own.empty() ? "" : " at " + own, incumbent_,
                      report::ratio(speedup_), patience_, specification_.stopping.patience);
  if (!console_.terminal) {
    print(report::one_line(text, 0) + '\n');
    std::fflush(stdout);
  } else if (promoted) {
    line_.clear();
    print(console_.paint(report::one_line(text, console_.columns), Paint::good) + '\n');
  }
  show(true);
}

void Progress::decided(ir::LineageDecision const& decision) {
  doing_ = fmt::format("{} {}", to_string(decision.status), to_string(decision.implementation));
  show(true);
}

void Progress::note(std::string const& sentence) {
  line_.clear();
  fmt::print(stderr, "tik: {}\n", sentence);
  show(true);
}

void Progress::finish() { line_.clear(); }

StageLine::StageLine(Console const& console, std::string what)
    : line_(stderr, console.error_terminal), what_(std::move(what)) {}

void StageLine::stage(std::string_view stage, double fraction) {
  line_.show(fmt::format("{}: {} {}", what_, stage, percent(fraction)));
}

void StageLine::note(std::string const& sentence) {
  line_.clear();
  fmt::print(stderr, "tik: {}\n", sentence);
}

void StageLine::finish() { line_.clear(); }

} // namespace tik::cli
