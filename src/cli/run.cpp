// `tik run`: the workflow with an agent, watched.
#include <fmt/format.h>

#include <chrono>

#include "src/cli/choose_agent.h"
#include "src/cli/commands.h"
#include "src/cli/hosts.h"
#include "src/cli/interrupt.h"
#include "src/cli/progress.h"
#include "src/cli/progress_lines.h"
#include "src/report/format.h"
#include "src/report/report.h"

namespace tik::cli {
namespace {

// An agent that acts no more once this run's own limit is reached, so that a step under way is finished first.
class LimitedAgent : public agent::Agent {
 public:
  LimitedAgent(ChosenAgent inner, Run const& options)
      : inner_(std::move(inner)),
        steps_(options.steps),
        seconds_(options.seconds),
        started_(std::chrono::steady_clock::now()) {}

  std::string name() const override { return inner_.agent().name(); }

  Result<std::optional<agent::ActionDraft>> act(agent::View const& view, agent::Workspace& workspace) override {
    double const elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    if (steps_ > 0 && acted_ >= steps_)
      reached_ = fmt::format("this run's limit of {} is reached", report::count(steps_, "step"));
    if (seconds_ > 0 && elapsed >= seconds_) reached_ = fmt::format("this run's limit of {:g} seconds is reached", seconds_);
    if (!reached_.empty()) return std::nullopt;
    ++acted_;
    return inner_.agent().act(view, workspace);
  }

  Result<agent::ManagementDraft> manage(agent::View const& view, ir::AuditId audit) override {
    return inner_.agent().manage(view, audit);
  }

  // Why it acts no more; empty while no limit is reached.
  std::string const& reached() const { return reached_.empty() ? inner_.stopped() : reached_; }

 private:
  ChosenAgent inner_;
  int steps_;
  double seconds_;
  std::chrono::steady_clock::time_point started_;
  int acted_ = 0;
  std::string reached_;
};

std::string stop_words(search::StopReason reason, spec::Stopping const& stopping) {
  switch (reason) {
    case search::StopReason::patience:
      return fmt::format("{} without improvement (patience)", report::count(stopping.patience, "audit"));
    case search::StopReason::steps:
      return fmt::format("the specification's limit of {} is reached", report::count(*stopping.steps, "step"));
    case search::StopReason::seconds:
      return fmt::format("the specification's limit of {:g} seconds is reached", *stopping.seconds);
    case search::StopReason::tokens:
      return fmt::format("the specification's limit of {} model tokens is reached", *stopping.tokens);
    case search::StopReason::no_opportunity:
      return "no opportunity is left that the agent would act on";
    case search::StopReason::interrupted:
      return "interrupted";
  }
  return "stopped";
}

Result<std::filesystem::path> write_report(search::Search const& search, Run const& options) {
  TIK_TRY(report::History const history, report::read_history(search));
  return report::write_report(history, options.search / "report");
}

} // namespace

Result<int> execute(Run const& options, Console const& console) {
  TIK_CHECK(check_agent(options));
  TIK_TRY(auto const host, host_command(options));
  TIK_TRY(search::Search search, search::Search::open(options.search, search::Search::Mode::write));
  if (host) search.audit_on(*host);
  Interrupt const interrupt;
  TIK_TRY(ChosenAgent inner, choose_agent(options, search, Interrupt::flag()));
  LimitedAgent agent(std::move(inner), options);
  ProgressLines lines(search);
  std::optional<Progress> progress;
  if (!options.json) progress.emplace(console, search.specification(), search.state());
  search::Observer& observer = progress ? static_cast<search::Observer&>(*progress) : lines;
  Result<search::StopReason> const stopped = search.run(agent, observer, Interrupt::flag());
  if (progress) progress->finish();
  // An agent that asks no more in the middle of a step ends the run as one that asks no more between two.
  bool const asks_no_more = !stopped && stopped.error().kind == ErrorKind::cancelled && !agent.reached().empty();
  bool const cancelled = !stopped && stopped.error().kind == ErrorKind::cancelled && !asks_no_more;
  if (!stopped && !cancelled && !asks_no_more) return tl::unexpected(stopped.error());

  search::State const& state = search.state();
  std::string const folder = options.search.string();
  if (cancelled || (stopped && *stopped == search::StopReason::interrupted)) {
    fmt::print(stderr, "tik: Interrupted after {}; all that was finished is recorded. Go on with: tik run {}\n",
               report::count(state.steps, "step"), folder);
    if (options.json) lines.stopped(to_string(search::StopReason::interrupted), "interrupted", {});
    return 130;
  }
  std::string const why = agent.reached().empty() ? stop_words(*stopped, search.specification().stopping) : agent.reached();
  if (options.json) {
    TIK_TRY(std::filesystem::path const written, write_report(search, options));
    lines.stopped(agent.reached().empty() ? to_string(*stopped) : "agent", why, written);
    return 0;
  }
  print(fmt::format("stopped: {}\n", why));
  print(fmt::format(
      "best: {}, {} as fast as the root, after {} with {}\n", state.incumbent ? to_string(*state.incumbent) : "none",
      console.paint(report::ratio(state.speedup()), Paint::bold), report::count(state.steps, "audit"),
      report::count(std::max<std::int64_t>(0, static_cast<std::int64_t>(state.promotions.size()) - 1), "promotion")));
  TIK_TRY(std::filesystem::path const written, write_report(search, options));
  print(fmt::format("report: {}\n", written.string()));
  return 0;
}

} // namespace tik::cli
