// Builds states for tests by folding events, the only way that a state comes about.
#pragma once

#include "src/search/state.h"

namespace tik::search::test {

inline ir::ImplementationId I(std::int64_t number) { return {number}; }
inline ir::OpportunityId O(std::int64_t number) { return {number}; }
inline ir::AuditId U(std::int64_t number) { return {number}; }

struct Verdict {
  bool verified = true, measured = true, within_limits = true;
  std::optional<double> total_us = 100;
};
inline Verdict failed() { return {false, false, false, std::nullopt}; }
inline Verdict takes(double total_us) { return {true, true, true, total_us}; }
inline Verdict over_a_limit(double total_us) { return {true, true, false, total_us}; }
inline Verdict not_measured() { return {true, false, false, std::nullopt}; }

// A history that grows record by record; ids are consecutive as the store gives them. I0 is the root, audited as U1 with T =
// 100.
class History {
 public:
  explicit History(Verdict root = takes(100)) {
    add(ir::ImplementationEvent{I(0)});
    audit(I(0), root);
  }

  ir::OpportunityId opportunity(std::vector<ir::ImplementationId> implementations,
                                ir::Opportunity::Kind kind = ir::Opportunity::Kind::change) {
    add(ir::OpportunityEvent{O(++opportunities_), kind, std::move(implementations)});
    return O(opportunities_);
  }
  void withdraw(ir::OpportunityId id) { add(ir::WithdrawalEvent{id}); }
  ir::ImplementationId action(ir::OpportunityId opportunity, std::vector<ir::ImplementationId> parents) {
    ir::ImplementationId const result = I(++actions_);
    add(ir::ImplementationEvent{result});
    add(ir::ActionEvent{{actions_}, opportunity, result, ir::ActionForm::joint, std::move(parents)});
    return result;
  }
  ir::AuditId audit(ir::ImplementationId implementation, Verdict verdict) {
    add(ir::AuditEvent{U(++audits_), implementation, verdict.verified, verdict.measured, verdict.within_limits,
                       verdict.total_us, 2.0});
    return U(audits_);
  }
  void decide(ir::ImplementationId implementation, ir::AuditId audit, ir::BranchStatus status) {
    add(ir::DecisionEvent{{++decisions_}, implementation, audit, status});
  }
  // One whole step: an action on a fresh opportunity, its audit, and the decision about it.
  ir::ImplementationId step(std::vector<ir::ImplementationId> parents, Verdict verdict,
                            ir::BranchStatus status = ir::BranchStatus::continued) {
    ir::ImplementationId const result = action(opportunity(parents), parents);
    ir::AuditId const id = audit(result, verdict);
    decide(verdict.verified ? result : parents.front(), id, status);
    return result;
  }
  void add(ir::Event event) {
    apply(state, ++sequence_, event);
    events.push_back(std::move(event));
  }

  State state;
  std::vector<ir::Event> events;

 private:
  std::int64_t sequence_ = 0, opportunities_ = 0, actions_ = 0, audits_ = 0, decisions_ = 0;
};

} // namespace tik::search::test
