// The tools on a search that this process holds: every call records what it did.
#pragma once

#include <atomic>
#include <memory>

#include "src/agent/toolbox.h"
#include "src/search/search.h"

namespace tik::agent {

class SearchDesk : public Desk {
 public:
  // `search` is open for writing, or for reading: then whatever records is refused.
  SearchDesk(search::Search search, std::filesystem::path folder, std::string agent_name);
  ~SearchDesk() override; // stops an audit that runs; nothing of it is recorded

  // Audits run on this host from now on, those of a batch in one bundle.
  void audit_on(evaluator::HostCommand command);
  // Called with the stage of an audit that runs and its fraction, from the audit's own thread.
  void on_progress(std::function<void(std::string_view stage, double fraction)> report);
  // Stops what runs, an audit or a build, within a second; nothing of it is recorded. From any thread.
  void cancel();
  // A new call begins: a cancellation before it is not meant for it.
  void begin_call();

  View view() const override;
  Result<Workspace::CheckedOut> check_out(std::vector<ir::ImplementationId> const& parents) override;
  Result<evaluator::Stage> build() override;
  Result<Json> submit(ActionDraft const& draft, bool batch) override;
  Result<Json> decide(ir::AuditId audit, ManagementDraft const& draft) override;
  Result<Json> propose(ir::Opportunity const& opportunity) override;
  Result<Json> withdraw(ir::Withdrawal const& withdrawal) override;
  // The audit runs in a thread of its own, during which the view is that of a second reader and nothing else is recorded.
  Result<AuditProgress> audit(double seconds) override;

 private:
  struct Running;
  void start_audit();
  Result<void> not_while_auditing() const;

  search::Search search_;
  std::filesystem::path folder_;
  std::string agent_name_;
  bool has_host_ = false;
  std::function<void(std::string_view, double)> report_;
  std::unique_ptr<Running> running_;
  std::atomic<bool> cancel_build_ = false;
  std::atomic<bool> cancel_audit_ = false; // stays set until the audit has ended
};

} // namespace tik::agent
