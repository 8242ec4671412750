#include "src/agent/builtin.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/agent/builtin_lineage.h"
#include "src/agent/builtin_words.h"
#include "src/base/files.h"
#include "src/evaluator/evaluator.h"

namespace tik::agent {
namespace {

constexpr double hopeless_value = -0.7; // an opportunity below it is not worth an audit
constexpr double opening_bonus = 0.5;   // for the root's own opportunities in the opening steps
constexpr double jitter = 0.03;

// A reproducible number in [0, 1) (the finalizer of SplitMix64).
double uniform(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15u * (number + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

struct Choice {
  Candidate candidate;
  ir::Opportunity const* opportunity;
  Estimate expected;
  double value;
};

class BuiltinAgent : public Agent {
 public:
  explicit BuiltinAgent(std::uint64_t seed) : seed_(seed) {}

  std::string name() const override { return "builtin"; }

  Result<std::optional<ActionDraft>> act(View const& view, Workspace& workspace) override {
    TIK_CHECK(knowledge_.learn(view));
    for (Choice const& choice : ranked(view)) {
      TIK_TRY(bool const edited, edit(view, workspace, choice.candidate));
      if (edited) return describe_action(view, knowledge_, choice.candidate, choice.expected, *choice.opportunity);
    }
    return std::nullopt;
  }

  Result<ManagementDraft> manage(View const& view, ir::AuditId audit) override {
    TIK_CHECK(knowledge_.learn(view));
    return manage_lineage(view, knowledge_, view.state.audits.at(audit));
  }

 private:
  std::vector<Choice> ranked(View const& view) const {
    std::vector<Choice> choices;
    for (ir::OpportunityId const id : view.state.pending) {
      ir::Opportunity const& opportunity = knowledge_.opportunity(id);
      auto candidate = candidate_of(view, knowledge_, opportunity);
      if (!candidate) continue;
      Estimate expected = estimate(view, knowledge_, *candidate);
      double value = expected.value + jitter * (uniform(seed_, static_cast<std::uint64_t>(id.number)) - 0.5);
      if (value < hopeless_value) continue;
      if (view.state.steps < opening_steps && candidate->base == view.state.root) value += opening_bonus;
      choices.push_back({std::move(*candidate), &opportunity, std::move(expected), value});
    }
    std::stable_sort(choices.begin(), choices.end(), [](Choice const& a, Choice const& b) { return a.value > b.value; });
    return choices;
  }

  // Makes the change in the workspace. False when its text does not allow it or when it gives a source that is on record.
  Result<bool> edit(View const& view, Workspace& workspace, Candidate const& candidate) {
    std::vector<ir::ImplementationId> parents = {candidate.base};
    if (candidate.other) parents.push_back(*candidate.other);
    TIK_TRY(Workspace::CheckedOut const checked_out, workspace.check_out(parents));
    // A merge without a conflict is ready; with one, the other branch's changes are made again by hand on the first.
    if (!candidate.other || !checked_out.conflicts.empty()) {
      TIK_TRY(Tree const tree, read_tree(view.sources, knowledge_.trial(candidate.base).commit));
      std::optional<Tree> const edited = apply_all(tree, knowledge_.manifest(), candidate.moves);
      if (!edited) return false;
      for (auto const& [file, content] : *edited)
        if (content != tree.at(file)) TIK_CHECK(write_file(checked_out.folder / file, content, Flush::no));
    }
    TIK_TRY(std::string const source_sha256, evaluator::hash_source_tree(checked_out.folder));
    TIK_TRY(auto const same, view.store.implementation_with_source(source_sha256));
    return !same.has_value();
  }

  std::uint64_t seed_;
  Knowledge knowledge_; // what the records say, read once each
};

} // namespace

std::unique_ptr<Agent> make_builtin_agent(std::uint64_t seed) { return std::make_unique<BuiltinAgent>(seed); }

} // namespace tik::agent
