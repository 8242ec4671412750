#include "src/search/state.h"

#include "src/search/rules.h"

namespace tik::search {
namespace {

// One overload a record type; each keeps the invariants that state.h names, whatever order the records come in.
struct Fold {
  State& state;

  void operator()(ir::OpportunityEvent const& event) const {
    state.opportunities[event.id] = {event.kind, true, event.implementations, {}};
    state.pending.insert(event.id);
  }

  void operator()(ir::WithdrawalEvent const& event) const { settle(event.id); }

  void operator()(ir::ImplementationEvent const& event) const {
    bool const audited = state.implementations[event.id].audited;
    if (!state.root) state.root = event.id;
    if (!audited) state.unaudited.insert(event.id);
  }

  void operator()(ir::ActionEvent const& event) const {
    ImplementationState& result = state.implementations[event.result];
    result.parents = event.parents;
    result.action = event.id;
    settle(event.opportunity);
    if (auto const found = state.opportunities.find(event.opportunity); found != state.opportunities.end())
      found->second.actions.push_back(event.id);
  }

  // An implementation is audited once: the first audit is the one that counts, so nothing is counted twice.
  void operator()(ir::AuditEvent const& event) const {
    ImplementationState& implementation = state.implementations[event.implementation];
    if (implementation.audited) return;
    state.audits[event.id] = event.implementation;
    bool const root = event.implementation == state.root;
    bool const promoted = is_promoted(state, event);
    implementation.audited = true;
    implementation.audit = event.id;
    implementation.verified = event.verified;
    implementation.measured = event.measured;
    implementation.within_limits = event.within_limits;
    implementation.total_us = event.total_us;
    implementation.promoted = promoted;
    state.audit_seconds += event.seconds;
    state.unaudited.erase(event.implementation);
    state.undecided.insert(event.id);
    if (!root) {
      ++state.steps;
      state.patience_used = promoted ? 0 : state.patience_used + 1;
    } else {
      state.root_total_us = event.total_us.value_or(0);
      if (event.verified) state.frontier.insert(event.implementation);
    }
    if (!promoted) return;
    state.incumbent = event.implementation;
    state.incumbent_total_us = *event.total_us;
    state.promotions.push_back({state.steps, event.implementation, *event.total_us});
  }

  // Only verified implementations enter frontier or archive, so a decision about an unverified one moves nothing.
  void operator()(ir::DecisionEvent const& event) const {
    state.undecided.erase(event.audit);
    ImplementationState& implementation = state.implementations[event.implementation];
    implementation.status = event.status;
    state.frontier.erase(event.implementation);
    state.archive.erase(event.implementation);
    if (!implementation.verified) return;
    if (is_active(event.status)) state.frontier.insert(event.implementation);
    if (event.status == ir::BranchStatus::archived) state.archive.insert(event.implementation);
  }

  void operator()(ir::UsageEvent const& event) const { state.model_tokens += event.tokens; }

 private:
  void settle(ir::OpportunityId id) const {
    state.pending.erase(id);
    if (auto const found = state.opportunities.find(id); found != state.opportunities.end()) found->second.pending = false;
  }
};

template <class Id>
std::optional<Id> first_of(std::set<Id> const& ids) {
  return ids.empty() ? std::nullopt : std::optional(*ids.begin());
}

} // namespace

void apply(State& state, std::int64_t sequence, ir::Event const& event) {
  std::visit(Fold{state}, event);
  state.awaiting_audit = first_of(state.unaudited);
  state.awaiting_decision = first_of(state.undecided);
  state.sequence = sequence;
}

Result<State> fold(ir::Store const& store) {
  State state;
  TIK_CHECK(refresh(state, store));
  return state;
}

Result<void> refresh(State& state, ir::Store const& store) {
  auto const last = store.replay(
      state.sequence, [&](std::int64_t sequence, std::string_view, ir::Event const& event) { apply(state, sequence, event); });
  if (!last) return tl::unexpected(last.error());
  return {};
}

} // namespace tik::search
