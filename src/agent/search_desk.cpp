#include "src/agent/search_desk.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "src/search/layout.h"

namespace tik::agent {
namespace {

using Clock = std::chrono::steady_clock;

} // namespace

// One audit in its thread. The search belongs to that thread until it has ended; readers use `reader`.
struct SearchDesk::Running : search::Observer {
  Running(ir::ImplementationId audited, search::Search other) : implementation(audited), reader(std::move(other)) {}

  void stage(std::string_view name, double part) override {
    {
      std::lock_guard const lock(mutex);
      stage_name = name;
      fraction = part;
    }
    if (report) report(name, part);
  }
  void acted(ir::Action const&) override {}
  void audited(ir::Audit const&, search::State const&, bool) override {}
  void decided(ir::LineageDecision const&) override {}

  ir::ImplementationId implementation;
  search::Search reader;
  std::function<void(std::string_view, double)> report;
  Clock::time_point begin = Clock::now();
  std::mutex mutex;
  std::condition_variable ended;
  std::string stage_name;
  double fraction = 0;
  std::optional<Result<search::TakenIn>> result;
  std::thread thread;
};

SearchDesk::SearchDesk(search::Search search, std::filesystem::path folder, std::string agent_name)
    : search_(std::move(search)), folder_(std::move(folder)), agent_name_(std::move(agent_name)) {}

SearchDesk::~SearchDesk() {
  cancel();
  if (running_ && running_->thread.joinable()) running_->thread.join();
}

void SearchDesk::audit_on(evaluator::HostCommand command) {
  search_.audit_on(std::move(command));
  has_host_ = true;
}

void SearchDesk::on_progress(std::function<void(std::string_view, double)> report) { report_ = std::move(report); }
void SearchDesk::cancel() { cancel_build_ = cancel_audit_ = true; }
void SearchDesk::begin_call() {
  cancel_build_ = false;
  if (!running_) cancel_audit_ = false;
}

Result<void> SearchDesk::not_while_auditing() const {
  if (!running_) return {};
  return input_error(
      fmt::format("The audit of {} runs; wait for it with the tool audit.", to_string(running_->implementation)));
}

View SearchDesk::view() const { return running_ ? running_->reader.view() : search_.view(); }

Result<Workspace::CheckedOut> SearchDesk::check_out(std::vector<ir::ImplementationId> const& parents) {
  TIK_CHECK(not_while_auditing());
  std::filesystem::path const draft = search::Layout{folder_}.work() / "draft";
  TIK_CHECK(search::renew_folder(draft));
  return search_.check_out(parents, draft);
}

Result<evaluator::Stage> SearchDesk::build() {
  TIK_CHECK(not_while_auditing());
  return search_.try_build(search::Layout{folder_}.work() / "draft", &cancel_build_);
}

Result<Json> SearchDesk::submit(ActionDraft const& draft, bool batch) {
  TIK_CHECK(not_while_auditing());
  TIK_TRY(auto const recorded, search_.record_action(draft, search::Layout{folder_}.work() / "draft", agent_name_,
                                                     batch ? search::ActionOrder::batch : search::ActionOrder::sequential));
  auto const& [action, implementation] = recorded;
  return Json{{"action", to_string(action.id)},
              {"implementation", to_string(implementation.id)},
              {"form", ir::to_string(action.form)},
              {"regions", action.regions},
              {"next", next_step(search_.state(), false)}};
}

Result<Json> SearchDesk::decide(ir::AuditId audit, ManagementDraft const& draft) {
  TIK_CHECK(not_while_auditing());
  TIK_TRY(std::vector<ir::LineageDecision> const recorded, search_.record_management(draft, audit, agent_name_));
  Json answer = {{"decisions", Json::array()}, {"follow_ups", Json::array()}};
  for (ir::LineageDecision const& decision : recorded) {
    answer["decisions"].push_back(
        fmt::format("{}: {} {}", to_string(decision.id), ir::to_string(decision.status), to_string(decision.implementation)));
    for (ir::OpportunityId const id : decision.follow_ups) answer["follow_ups"].push_back(to_string(id));
  }
  answer["next"] = next_step(search_.state(), false);
  return answer;
}

Result<Json> SearchDesk::propose(ir::Opportunity const& opportunity) {
  TIK_CHECK(not_while_auditing());
  TIK_TRY(ir::Opportunity const recorded, search_.propose(opportunity));
  return Json{{"opportunity", to_string(recorded.id)}};
}

Result<Json> SearchDesk::withdraw(ir::Withdrawal const& withdrawal) {
  TIK_CHECK(not_while_auditing());
  TIK_TRY(ir::Withdrawal const recorded, search_.withdraw(withdrawal));
  return Json{{"withdrawn", to_string(recorded.opportunity)}};
}

void SearchDesk::start_audit() {
  running_->report = report_;
  bool const together = has_host_ && search_.state().unaudited.size() > 1;
  running_->thread = std::thread([this, together, running = running_.get()] {
    Result<search::TakenIn> result = search::TakenIn{};
    if (together) {
      result = search_.audit_together({}, running, &cancel_audit_);
    } else if (auto audit = search_.audit(running->implementation, running, &cancel_audit_); audit) {
      result->audits.push_back(std::move(*audit));
    } else {
      result = tl::unexpected(std::move(audit.error()));
    }
    std::lock_guard const lock(running->mutex);
    running->result = std::move(result);
    running->ended.notify_all();
  });
}

Result<AuditProgress> SearchDesk::audit(double seconds) {
  if (!running_) {
    if (!search_.state().awaiting_audit) return input_error("No implementation awaits its audit; submit makes one.");
    TIK_TRY(search::Search reader, search::Search::open(folder_, search::Search::Mode::read));
    running_ = std::make_unique<Running>(*search_.state().awaiting_audit, std::move(reader));
    start_audit();
  }
  Running& running = *running_;
  std::unique_lock lock(running.mutex);
  bool const ended =
      running.ended.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return running.result.has_value(); });
  if (!ended)
    return AuditProgress{running.implementation,
                         std::nullopt,
                         {},
                         {},
                         running.stage_name,
                         running.fraction,
                         std::chrono::duration<double>(Clock::now() - running.begin).count()};
  lock.unlock();
  running.thread.join();
  std::unique_ptr<Running> const over = std::move(running_);
  if (!*over->result && over->result->error().kind == ErrorKind::cancelled)
    return input_error(
        fmt::format("The audit of {} was cancelled; nothing of it is recorded.", to_string(over->implementation)));
  if (!*over->result) return tl::unexpected(over->result->error());
  search::TakenIn const& taken = **over->result;
  if (taken.audits.empty())
    return input_error(
        "Nothing is recorded: what was gained is too little over an incumbent that it was not measured beside; audit again.");
  AuditProgress done{over->implementation,
                     taken.audits.front().id,
                     {},
                     taken.held_back,
                     "",
                     1,
                     std::chrono::duration<double>(Clock::now() - over->begin).count()};
  for (auto other = std::next(taken.audits.begin()); other != taken.audits.end(); ++other) done.others.push_back(other->id);
  return done;
}

} // namespace tik::agent
