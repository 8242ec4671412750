#include "src/search/verify.h"

#include <fmt/format.h>

#include <optional>
#include <system_error>

#include "src/base/files.h"
#include "src/search/layout.h"
#include "src/search/rules.h"

namespace tik::search {
namespace {

// Looks at each record before it is folded in. What cannot be read is a finding of its own, and the fold goes on.
class Auditor {
 public:
  Auditor(ir::Store const& store, ir::SourceRepository const& sources, ir::SearchIdentity const& identity,
          spec::Specification const& specification, std::vector<ir::Finding>& findings)
      : store_(store), sources_(sources), identity_(identity), specification_(specification), findings_(findings) {}

  void operator()(ir::OpportunityEvent const& event) {
    auto const opportunity = read(event.id, store_.opportunity(event.id));
    if (!opportunity) return;
    // A reactivation is recorded with the decision that reactivates, so the implementation may be active by now.
    ir::Opportunity checked = *opportunity;
    if (checked.kind == ir::Opportunity::Kind::reactivate) checked.kind = ir::Opportunity::Kind::change;
    expect(event.id, may_propose(state_, specification_, checked));
  }

  void operator()(ir::WithdrawalEvent const& event) {
    if (!state_.pending.contains(event.id)) report(event.id, "It was withdrawn when it was not pending.");
  }

  void operator()(ir::ImplementationEvent const& event) {
    if (state_.root && state_.unaudited.contains(*state_.root))
      report(event.id, fmt::format("It was made before {} was audited.", to_string(*state_.root)));
    if (state_.root && state_.awaiting_decision)
      report(event.id, fmt::format("It was made before {} was decided about.", to_string(*state_.awaiting_decision)));
  }

  void operator()(ir::ActionEvent const& event) {
    expect(event.id, may_be_parents(state_, event.parents));
    expect(event.id, may_take(state_, event.opportunity, event.parents));
    auto const action = read(event.id, store_.action(event.id));
    auto const result = read(event.result, store_.implementation(event.result));
    if (!action || !result || event.parents.empty()) return;
    auto const parent = read(event.parents.front(), store_.implementation(event.parents.front()));
    if (!parent) return;
    auto const difference = read(event.result, sources_.diff(parent->commit, result->commit));
    if (!difference) return;
    if (difference->text != action->diff)
      report(event.id, "Its diff is not the difference between its parent's source and its result's.");
    if (action_form(*difference, parent->manifest, result->manifest) != event.form)
      report(event.id, fmt::format("Its form is not {}, by the files that it changed.", to_string(event.form)));
    if (changed_regions(*difference) != action->regions) report(event.id, "Its regions are not those of its diff.");
    expect(event.id, action_is_complete(specification_, draft_of(*action), *difference));
  }

  void operator()(ir::AuditEvent const& event) {
    if (auto const found = state_.implementations.find(event.implementation); found == state_.implementations.end())
      return report(event.id, fmt::format("It is about {}, which is not recorded before it.", to_string(event.implementation)));
    else if (found->second.audited)
      report(event.id,
             fmt::format("{} had its audit already: {}.", to_string(event.implementation), to_string(*found->second.audit)));
    auto const audit = read(event.id, store_.audit(event.id));
    if (!audit) return;
    evaluator::Report const& found = audit->report;
    bool const measured = found.measured(specification_);
    bool const limits = measured && within_limits(specification_, identity_.baseline_us, found);
    if (event.verified != found.verified()) report(event.id, "Its column \"verified\" is not what its report says.");
    if (event.measured != measured) report(event.id, "Its column \"measured\" is not what its report says.");
    if (event.within_limits != limits)
      report(event.id, "Its column \"within_limits\" is not what its latencies and the baselines say.");
    if (event.total_us != found.total_us(specification_))
      report(event.id, "Its total is not the weighted sum of its latencies.");
    if (event.implementation == state_.root) return expect(event.id, may_start(specification_, found));
    check_incumbent(event, found);
  }

  void operator()(ir::DecisionEvent const& event) {
    auto const decision = read(event.id, store_.lineage_decision(event.id));
    if (!decision) return;
    expect(
        event.id,
        may_decide(
            state_, event.audit,
            {decision->implementation, decision->interpretation, decision->status, decision->reason, decision->evidence, {}}));
    if (state_.undecided.contains(event.audit))
      expect(event.id, leads(state_, event.audit, {decision->implementation, "", decision->status, "", {}, {}}));
  }

  void operator()(ir::UsageEvent const& event) {
    if (event.tokens < 0) findings_.push_back({"model usage", "It has a negative number of tokens."});
  }

  void fold_in(std::int64_t sequence, ir::Event const& event) {
    std::visit(*this, event);
    apply(state_, sequence, event);
  }

 private:
  // What an audit was measured beside was an incumbent by then, and a promotion over another one than that is clear of the
  // noise.
  void check_incumbent(ir::AuditEvent const& event, evaluator::Report const& found) {
    if (found.incumbent_sha256.empty() || !state_.incumbent) return;
    auto const beside = read(event.id, store_.implementation_with_source(found.incumbent_sha256));
    if (!beside) return;
    if (!*beside || !state_.implementations.contains(**beside) || !state_.implementations.at(**beside).promoted)
      return report(event.id, "It was measured beside a source that was no incumbent before it.");
    if (*beside == state_.incumbent || !is_promoted(state_, event)) return;
    auto const incumbent = read(*state_.incumbent, store_.implementation(*state_.incumbent));
    auto const audit = read(*state_.incumbent, store_.audit(*state_.implementations.at(*state_.incumbent).audit));
    if (incumbent && audit && !is_settled(specification_, found, incumbent->source_sha256, audit->report))
      report(event.id, fmt::format("It was promoted over {}, which it was not measured beside, by a gain within the noise.",
                                   to_string(*state_.incumbent)));
  }

  static agent::ActionDraft draft_of(ir::Action const& action) {
    return {action.opportunity, action.parents,         action.workloads,     action.variants,
            action.scope,       action.expected_effect, action.contradiction, action.risks};
  }

  template <class Id>
  void report(Id id, std::string sentence) {
    findings_.push_back({to_string(id), std::move(sentence)});
  }
  template <class Id>
  void expect(Id id, Result<void> const& rule) {
    if (!rule) report(id, "A rule does not hold: " + rule.error().message);
  }
  template <class Id, class T>
  std::optional<T> read(Id id, Result<T> result) {
    if (result) return std::move(*result);
    report(id, result.error().message);
    return std::nullopt;
  }

  ir::Store const& store_;
  ir::SourceRepository const& sources_;
  ir::SearchIdentity const& identity_;
  spec::Specification const& specification_;
  std::vector<ir::Finding>& findings_;
  State state_;
};

// The rules, record by record. What keeps them from being asked at all is one finding.
Result<void> check_rules(Layout const& layout, std::vector<ir::Finding>& findings) {
  TIK_TRY(ir::Store const store, ir::Store::open(layout.database(), ir::Store::Mode::read_only));
  TIK_TRY(ir::SourceRepository const sources, ir::SourceRepository::open(layout.sources()));
  TIK_TRY(ir::SearchIdentity const identity, store.identity());
  TIK_TRY(spec::Specification const specification,
          spec::parse_specification(identity.specification_text, identity.specification_file));
  Auditor auditor(store, sources, identity, specification, findings);
  auto const last = store.replay(
      0, [&](std::int64_t sequence, std::string_view, ir::Event const& event) { auditor.fold_in(sequence, event); });
  if (!last) return tl::unexpected(last.error());
  return {};
}

} // namespace

Result<ir::Verification> verify(std::filesystem::path const& folder) {
  Layout const layout{folder};
  TIK_TRY(ir::Verification verification, ir::verify(layout.database(), layout.sources()));
  if (auto const checked = check_rules(layout, verification.findings); !checked)
    verification.findings.push_back(
        {layout.database().filename().string(), "The rules could not be checked: " + checked.error().message});
  std::error_code error;
  if (!std::filesystem::exists(layout.specification(), error)) return verification;
  auto const copy = read_file(layout.specification());
  auto const store = ir::Store::open(layout.database(), ir::Store::Mode::read_only);
  auto const identity = store ? store->identity() : tl::unexpected(store.error());
  if (copy && identity && *copy != identity->specification_text)
    verification.findings.push_back(
        {layout.specification().filename().string(), "It differs from the specification that was sealed."});
  return verification;
}

} // namespace tik::search
