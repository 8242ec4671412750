#include <set>

#include "src/report/report.h"

namespace tik::report {
namespace {

// Ids of a kind in order of their first appearance in the records.
struct Order {
  std::vector<ir::ImplementationId> audited;
  std::vector<ir::OpportunityId> opportunities;
  std::vector<ir::LineageId> decisions;
};

Result<Order> read_order(ir::Store const& store, std::optional<ir::ImplementationId> root) {
  Order order;
  std::set<ir::ImplementationId> seen;
  TIK_CHECK(store.replay(0, [&](std::int64_t, std::string_view, ir::Event const& event) {
    if (auto const* audit = std::get_if<ir::AuditEvent>(&event)) {
      if (audit->implementation != root && seen.insert(audit->implementation).second)
        order.audited.push_back(audit->implementation);
    } else if (auto const* opportunity = std::get_if<ir::OpportunityEvent>(&event)) {
      order.opportunities.push_back(opportunity->id);
    } else if (auto const* decision = std::get_if<ir::DecisionEvent>(&event)) {
      order.decisions.push_back(decision->id);
    }
  }));
  return order;
}

Result<std::optional<evaluator::Report>> latest_report(ir::Store const& store, search::State const& state,
                                                       std::optional<ir::ImplementationId> id) {
  if (!id || !state.implementations.contains(*id) || !state.implementations.at(*id).audit) return std::nullopt;
  TIK_TRY(ir::Audit audit, store.audit(*state.implementations.at(*id).audit));
  return std::optional(std::move(audit.report));
}

} // namespace

Result<History> read_history(search::Search const& search) {
  ir::Store const& store = search.store();
  History history;
  history.specification = search.specification();
  history.identity = search.identity();
  history.state = search.state();
  search::State const& state = history.state;
  TIK_TRY(Order const order, read_order(store, state.root));

  std::vector<ir::ImplementationId> ids;
  if (state.root) ids.push_back(*state.root);
  ids.insert(ids.end(), order.audited.begin(), order.audited.end());
  std::set<ir::ImplementationId> const listed(ids.begin(), ids.end());
  for (auto const& [id, implementation] : state.implementations)
    if (!listed.contains(id)) ids.push_back(id);
  TIK_TRY(history.attempts, describe_attempts(search.view(), ids));

  for (ir::OpportunityId const id : order.opportunities) {
    TIK_TRY(ir::Opportunity opportunity, store.opportunity(id));
    TIK_TRY(std::optional<ir::Withdrawal> const withdrawal, store.withdrawal(id));
    if (withdrawal) history.withdrawals[id] = withdrawal->reason;
    history.opportunities.push_back(std::move(opportunity));
  }
  for (ir::LineageId const id : order.decisions) {
    TIK_TRY(ir::LineageDecision decision, store.lineage_decision(id));
    history.decisions.push_back(std::move(decision));
  }
  TIK_TRY(history.usage, read_usage(store));
  TIK_TRY(history.root_report, latest_report(store, state, state.root));
  TIK_TRY(history.best_report, latest_report(store, state, state.incumbent));
  return history;
}

std::vector<WorkloadPair> workload_pairs(History const& history) {
  std::vector<WorkloadPair> pairs;
  if (!history.best_report) return pairs;
  for (spec::Workload const& workload : history.specification.workloads) {
    auto const baseline = history.identity.baseline_us.find(workload.id);
    if (baseline == history.identity.baseline_us.end()) continue;
    for (evaluator::WorkloadMeasurement const& measured : history.best_report->workloads)
      if (measured.id == workload.id)
        pairs.push_back({workload.id, baseline->second, measured.latency_us, baseline->second * workload.max_slowdown});
  }
  return pairs;
}

} // namespace tik::report
