// The search state (paper, section 4.3) as a fold over the records in order. Never stored: computed, so it cannot disagree with
// them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "src/ir/store.h"

namespace tik::search {

// A branch with this status is one to build on: its implementation, once verified, is in the frontier.
constexpr bool is_active(ir::BranchStatus status) {
  return status == ir::BranchStatus::continued || status == ir::BranchStatus::merge || status == ir::BranchStatus::reactivated;
}

struct ImplementationState {
  bool audited = false, verified = false, measured = false, within_limits = false;
  std::optional<double> total_us;
  std::optional<ir::AuditId> audit;       // an implementation is audited once
  std::optional<ir::BranchStatus> status; // the latest decision about it
  std::vector<ir::ImplementationId> parents;
  std::optional<ir::ActionId> action;
  bool promoted = false; // was the incumbent at some time
  bool admissible() const { return verified && measured && within_limits; }
  bool operator==(ImplementationState const&) const = default;
};

struct OpportunityState {
  ir::Opportunity::Kind kind = ir::Opportunity::Kind::change;
  bool pending = true; // neither withdrawn nor taken by an action
  std::vector<ir::ImplementationId> implementations;
  std::vector<ir::ActionId> actions;
  bool operator==(OpportunityState const&) const = default;
};

// One point of the curve "speedup by step".
struct Promotion {
  int step = 0;
  ir::ImplementationId implementation;
  double total_us = 0;
  bool operator==(Promotion const&) const = default;
};

struct State {
  std::map<ir::ImplementationId, ImplementationState> implementations;
  std::map<ir::OpportunityId, OpportunityState> opportunities;
  std::map<ir::AuditId, ir::ImplementationId> audits;
  // F: verified, latest status continue, merge or reactivate (the root: until decided otherwise). R: verified, latest status
  // archive.
  std::set<ir::ImplementationId> frontier, archive;
  std::set<ir::OpportunityId> pending;                 // O
  std::optional<ir::ImplementationId> root, incumbent; // incumbent: I*, minimal T among admissible ones
  double incumbent_total_us = 0, root_total_us = 0;
  int patience_used = 0; // kappa: consecutive audited offspring that did not improve the incumbent
  int steps = 0;         // audited offspring
  double audit_seconds = 0;
  std::int64_t model_tokens = 0;
  std::vector<Promotion> promotions; // the root first
  // What is half done, in the order it is finished: implementations without an audit (several when their actions were one
  // batch), audits without a decision.
  std::set<ir::ImplementationId> unaudited;
  std::set<ir::AuditId> undecided;
  std::optional<ir::ImplementationId> awaiting_audit; // the first of `unaudited`
  std::optional<ir::AuditId> awaiting_decision;       // the first of `undecided`
  std::int64_t sequence = 0;                          // of the last record folded

  double speedup() const { return incumbent_total_us > 0 ? root_total_us / incumbent_total_us : 1.0; }
  bool operator==(State const&) const = default;
};

// One record folded in. Pure.
void apply(State& state, std::int64_t sequence, ir::Event const& event);
Result<State> fold(ir::Store const& store);
// Folds in what was appended since.
Result<void> refresh(State& state, ir::Store const& store);

} // namespace tik::search
