// Action (paper, section 5): an edited source tree becomes an implementation, linked to its opportunity and its parents.
#include <fmt/format.h>

#include "src/search/impl.h"

namespace tik::search {
namespace {

// Each offspring is audited, and each audit decided about, before the next action. Only the actions of a batch, which were all
// chosen before any of their audits, may stand side by side.
Result<void> nothing_half_done(State const& state, ActionOrder order) {
  if (state.awaiting_audit && order == ActionOrder::sequential)
    return input_error(
        fmt::format("{} awaits its audit; audit it before the next action, or submit the action as one of a batch.",
                    to_string(*state.awaiting_audit)));
  if (state.awaiting_decision)
    return input_error(fmt::format("{} awaits a lineage decision; decide about its branch before the next action.",
                                   to_string(*state.awaiting_decision)));
  return {};
}

Result<void> is_new(ir::Store const& store, std::string const& source_sha256,
                    std::vector<ir::ImplementationId> const& parents) {
  TIK_TRY(std::optional<ir::ImplementationId> const same, store.implementation_with_source(source_sha256));
  if (!same) return {};
  for (ir::ImplementationId const parent : parents)
    if (*same == parent)
      return input_error(fmt::format("The action changes nothing: its source is that of its parent {}.", to_string(parent)));
  return input_error(
      fmt::format("The action makes the same source as {}, which has its own audit; an implementation is never counted "
                  "twice: edit the source differently, or work from {}.",
                  to_string(*same), to_string(*same)));
}

} // namespace

Result<agent::Workspace::CheckedOut> Search::check_out(std::vector<ir::ImplementationId> const& parents,
                                                       std::filesystem::path const& folder, OldContent old_content) const {
  TIK_CHECK(may_be_parents(impl_->state, parents));
  TIK_TRY(std::string const first, impl_->commit_of(parents[0]));
  if (parents.size() == 1) {
    TIK_CHECK(impl_->sources.check_out(first, folder, old_content));
    return agent::Workspace::CheckedOut{folder, {}};
  }
  TIK_TRY(std::string const second, impl_->commit_of(parents[1]));
  TIK_TRY(ir::MergeOutcome outcome, impl_->sources.merge(first, second, folder, old_content));
  if (!outcome.conflicts.empty()) TIK_CHECK(impl_->sources.check_out(first, folder, old_content));
  return agent::Workspace::CheckedOut{folder, std::move(outcome.conflicts)};
}

// An action against which no rule speaks, and the implementation that it makes, with its commit.
struct Search::Prepared {
  ir::ImplementationId id;
  ir::Action action;
  ir::Implementation implementation;
  std::vector<SourceFile> files; // of that commit
};

// The folder is read once, since its owner may go on editing: everything is derived from the files that are committed.
Result<Search::Prepared> Search::prepare_action(agent::ActionDraft const& draft, std::filesystem::path const& folder,
                                                std::string const& agent_name, ActionOrder order) {
  Impl& search = *impl_;
  TIK_CHECK(search.writable());
  TIK_CHECK(nothing_half_done(search.state, order));
  TIK_CHECK(may_be_parents(search.state, draft.parents));
  TIK_CHECK(may_take(search.state, draft.opportunity, draft.parents));
  TIK_TRY(ir::Implementation const parent, search.store.implementation(draft.parents[0]));
  std::vector<std::string> commits = {parent.commit};
  if (draft.parents.size() == 2) {
    TIK_TRY(commits.emplace_back(), search.commit_of(draft.parents[1]));
  }
  TIK_TRY(std::vector<SourceFile> files, read_source_folder(folder));
  std::string const source_sha256 = hash_source_files(files);
  TIK_CHECK(is_new(search.store, source_sha256, draft.parents));
  ir::ImplementationId const id{search.state.implementations.rbegin()->first.number + 1};
  TIK_TRY(std::string const commit, search.sources.commit(files, commits,
                                                          fmt::format("{}: {}\n\nTakes {}, by {}.", to_string(id), draft.scope,
                                                                      to_string(draft.opportunity), agent_name)));
  TIK_TRY(ir::Difference difference, search.sources.diff(commits[0], commit));
  TIK_CHECK(action_is_complete(search.specification, draft, difference));
  TIK_TRY(spec::Manifest manifest, manifest_for(search.specification, folder, files));

  ir::Implementation implementation;
  implementation.commit = commit;
  implementation.source_sha256 = source_sha256;
  implementation.parents = draft.parents;
  implementation.target = manifest.target;
  ir::Action action;
  action.opportunity = draft.opportunity;
  action.parents = draft.parents;
  action.form = action_form(difference, parent.manifest, manifest);
  action.regions = changed_regions(difference);
  action.diff = std::move(difference.text);
  action.workloads = draft.workloads;
  action.variants = draft.variants;
  action.scope = draft.scope;
  action.expected_effect = draft.expected_effect;
  action.risks = draft.risks;
  action.contradiction = draft.contradiction;
  action.agent = agent_name;
  implementation.manifest = std::move(manifest);
  return Prepared{id, std::move(action), std::move(implementation), std::move(files)};
}

Result<std::pair<ir::Action, ir::Implementation>> Search::record_action(agent::ActionDraft const& draft,
                                                                        std::filesystem::path const& folder,
                                                                        std::string const& agent_name, ActionOrder order) {
  TIK_TRY(Prepared prepared, prepare_action(draft, folder, agent_name, order));
  impl_->candidate.reset();
  TIK_CHECK(write_source_folder(impl_->candidate_folder(), prepared.files, OldContent::replace));
  TIK_CHECK(impl_->sources.keep(to_string(prepared.id), prepared.implementation.commit));
  TIK_TRY(auto recorded, impl_->store.append(std::move(prepared.action), std::move(prepared.implementation)));
  TIK_CHECK(refresh(impl_->state, impl_->store));
  impl_->candidate = prepared.id;
  return recorded;
}

Result<void> Search::check_action(agent::ActionDraft const& draft, std::filesystem::path const& folder) {
  TIK_CHECK(prepare_action(draft, folder, "a draft", ActionOrder::sequential));
  return {};
}

Result<evaluator::Stage> Search::try_build(std::filesystem::path const& folder, std::atomic<bool> const* cancel) {
  TIK_CHECK(impl_->writable());
  TIK_TRY(evaluator::Request const request, impl_->request_for(folder, cancel));
  return evaluator::try_build(request);
}

} // namespace tik::search
