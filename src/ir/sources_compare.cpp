// Differences between source trees and their three-way merge. Both work on a view whose new objects stay in memory, so that
// looking at a folder leaves nothing behind in the repository.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/ir/git_objects.h"

namespace tik::ir {
namespace {

// Collects line numbers into ranges.
void add_line(std::vector<std::pair<int, int>>& ranges, int line) {
  if (!ranges.empty() && line >= ranges.back().first && line <= ranges.back().second + 1) {
    ranges.back().second = std::max(ranges.back().second, line);
  } else {
    ranges.emplace_back(line, line);
  }
}

// The changed lines of one file. Where lines were only taken out, the line of the new file before the gap stands for them.
std::vector<std::pair<int, int>> changed_lines(git_patch* patch, bool removed) {
  std::vector<std::pair<int, int>> ranges;
  for (std::size_t hunk = 0; hunk < git_patch_num_hunks(patch); ++hunk) {
    git_diff_hunk const* header = nullptr;
    if (git_patch_get_hunk(&header, nullptr, patch, hunk) != 0) continue;
    int passed = header->new_start - (header->new_lines > 0 ? 1 : 0); // last line of the new file that was passed
    bool gap = false;                                                 // lines were taken out here, and none put in so far
    int const lines = git_patch_num_lines_in_hunk(patch, hunk);
    for (int i = 0; i < lines; ++i) {
      git_diff_line const* line = nullptr;
      if (git_patch_get_line_in_hunk(&line, patch, hunk, static_cast<std::size_t>(i)) != 0) continue;
      if (line->origin == GIT_DIFF_LINE_DELETION && removed) {
        add_line(ranges, line->old_lineno);
      } else if (line->origin == GIT_DIFF_LINE_DELETION) {
        gap = true;
      } else if (line->origin == GIT_DIFF_LINE_ADDITION || line->origin == GIT_DIFF_LINE_CONTEXT) {
        bool const added = line->origin == GIT_DIFF_LINE_ADDITION;
        if (gap && !added) add_line(ranges, std::max(1, passed));
        if (added) add_line(ranges, line->new_lineno);
        gap = false;
        passed = line->new_lineno;
      }
    }
    if (gap) add_line(ranges, std::max(1, passed));
  }
  return ranges;
}

Result<Difference> compare(git_repository* git, std::filesystem::path const& folder, git_tree* from, git_tree* to) {
  auto const fail = [&](int code) { return tl::unexpected(git_error(folder, code, "two source trees cannot be compared")); };
  git_diff_options options;
  git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
  options.flags = GIT_DIFF_SHOW_BINARY; // the text is the exact modification, also of files that are not text
  git_diff* diff = nullptr;
  if (int const code = git_diff_tree_to_tree(&diff, git, from, to, &options); code != 0) return fail(code);
  GitDiff const owner(diff);
  Difference difference;
  git_buf text = GIT_BUF_INIT;
  if (int const code = git_diff_to_buf(&text, diff, GIT_DIFF_FORMAT_PATCH); code != 0) return fail(code);
  difference.text.assign(text.ptr == nullptr ? "" : text.ptr, text.size);
  git_buf_dispose(&text);
  for (std::size_t i = 0; i < git_diff_num_deltas(diff); ++i) {
    auto const* delta = git_diff_get_delta(diff, i);
    bool const added = delta->status == GIT_DELTA_ADDED;
    bool const removed = delta->status == GIT_DELTA_DELETED;
    FileChange change;
    change.file = removed ? delta->old_file.path : delta->new_file.path;
    change.kind = added ? FileChange::Kind::added : removed ? FileChange::Kind::removed : FileChange::Kind::modified;
    git_patch* patch = nullptr;
    if (int const code = git_patch_from_diff(&patch, diff, i); code != 0) return fail(code);
    GitPatch const patch_owner(patch);
    if (patch != nullptr) change.lines = changed_lines(patch, removed);
    difference.files.push_back(std::move(change));
  }
  return difference;
}

Result<std::vector<std::string>> conflicting_files(git_index* index, std::filesystem::path const& folder) {
  git_index_conflict_iterator* iterator = nullptr;
  if (int const code = git_index_conflict_iterator_new(&iterator, index); code != 0)
    return tl::unexpected(git_error(folder, code, "the conflicts of a merge cannot be listed"));
  GitConflicts const owner(iterator);
  std::set<std::string> files;
  git_index_entry const *ancestor = nullptr, *ours = nullptr, *theirs = nullptr;
  while (git_index_conflict_next(&ancestor, &ours, &theirs, iterator) == 0) {
    auto const* entry = ours != nullptr ? ours : theirs != nullptr ? theirs : ancestor;
    if (entry != nullptr) files.insert(entry->path);
  }
  return std::vector<std::string>(files.begin(), files.end());
}

} // namespace

Result<Difference> SourceRepository::diff(std::string const& from, std::string const& to) const {
  auto* git = repository_->objects();
  TIK_TRY(auto const from_tree, find_tree(git, repository_->folder, from));
  TIK_TRY(auto const to_tree, find_tree(git, repository_->folder, to));
  return compare(git, repository_->folder, from_tree.get(), to_tree.get());
}

Result<Difference> SourceRepository::diff_folder(std::string const& from, std::filesystem::path const& folder) const {
  TIK_TRY(auto const files, read_source_folder(folder));
  TIK_TRY(auto const view, scratch_view(repository_->folder));
  TIK_TRY(auto const from_tree, find_tree(view.get(), repository_->folder, from));
  TIK_TRY(auto const to_id, write_tree(view.get(), repository_->folder, files));
  git_tree* to = nullptr;
  if (int const code = git_tree_lookup(&to, view.get(), &to_id); code != 0)
    return tl::unexpected(git_error(repository_->folder, code, "a folder cannot be compared"));
  GitTree const to_tree(to);
  return compare(view.get(), repository_->folder, from_tree.get(), to);
}

Result<MergeOutcome> SourceRepository::merge(std::string const& ours, std::string const& theirs,
                                             std::filesystem::path const& folder, OldContent old_content) const {
  auto const fail = [&](int code) {
    return tl::unexpected(git_error(repository_->folder, code, "two source trees cannot be merged"));
  };
  TIK_TRY(auto const view, scratch_view(repository_->folder));
  TIK_TRY(auto const our_commit, find_commit(view.get(), repository_->folder, ours));
  TIK_TRY(auto const their_commit, find_commit(view.get(), repository_->folder, theirs));
  git_merge_options options;
  git_merge_options_init(&options, GIT_MERGE_OPTIONS_VERSION);
  options.flags = 0; // a renamed file is another file: roles go by names
  git_index* index = nullptr;
  if (int const code = git_merge_commits(&index, view.get(), our_commit.get(), their_commit.get(), &options); code != 0)
    return fail(code);
  GitIndex const owner(index);
  MergeOutcome outcome;
  if (git_index_has_conflicts(index) != 0) {
    TIK_TRY(outcome.conflicts, conflicting_files(index, repository_->folder));
    return outcome;
  }
  git_oid merged_id;
  if (int const code = git_index_write_tree_to(&merged_id, index, view.get()); code != 0) return fail(code);
  git_tree* merged = nullptr;
  if (int const code = git_tree_lookup(&merged, view.get(), &merged_id); code != 0) return fail(code);
  GitTree const merged_owner(merged);
  TIK_TRY(auto const files, read_tree(view.get(), repository_->folder, merged));
  TIK_CHECK(write_source_folder(folder, files, old_content));
  return outcome;
}

} // namespace tik::ir
