#include "src/ir/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/ir/durable.h"
#include "src/ir/git_objects.h"

namespace tik::ir {
namespace {

Result<git_oid> write_commit(git_repository* git, std::filesystem::path const& folder, std::vector<SourceFile> const& files,
                             std::vector<std::string> const& parents, std::string const& message) {
  auto const fail = [&](int code) { return tl::unexpected(git_error(folder, code, "the commit cannot be stored")); };
  std::vector<GitCommit> owners;
  std::vector<git_commit const*> parent_commits;
  for (auto const& parent : parents) {
    TIK_TRY(auto found, find_commit(git, folder, parent));
    parent_commits.push_back(found.get());
    owners.push_back(std::move(found));
  }
  TIK_TRY(auto const tree_id, write_tree(git, folder, files));
  git_tree* tree = nullptr;
  if (int const code = git_tree_lookup(&tree, git, &tree_id); code != 0) return fail(code);
  GitTree const tree_owner(tree);
  git_signature* signature = nullptr;
  if (int const code = git_signature_now(&signature, "TIK", "tik@localhost"); code != 0) return fail(code);
  GitSignature const signature_owner(signature);
  signature->when.offset = 0; // UTC, wherever the search runs
  signature->when.sign = '+';
  git_oid id;
  int const code = git_commit_create(&id, git, nullptr, signature, signature, "UTF-8", message.c_str(), tree,
                                     parent_commits.size(), parent_commits.data());
  if (code != 0) return fail(code);
  return id;
}

// Everything in a folder, for flushing.
std::vector<std::filesystem::path> all_below(std::filesystem::path const& folder) {
  std::vector<std::filesystem::path> paths = {folder, std::filesystem::absolute(folder).parent_path()};
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) paths.push_back(entry.path());
  return paths;
}

} // namespace

SourceRepository::SourceRepository(std::unique_ptr<Repository> repository) : repository_(std::move(repository)) {}
SourceRepository::SourceRepository(SourceRepository&&) noexcept = default;
SourceRepository& SourceRepository::operator=(SourceRepository&&) noexcept = default;
SourceRepository::~SourceRepository() = default;

Result<SourceRepository> SourceRepository::create(std::filesystem::path const& folder) {
  auto repository = std::make_unique<Repository>();
  repository->folder = folder;
  std::error_code error;
  if (std::filesystem::exists(folder, error))
    return input_error(fmt::format("{}: is there already: choose a new folder.", folder.string()));
  git_repository_init_options options;
  git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
  options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKPATH | GIT_REPOSITORY_INIT_NO_REINIT;
  options.initial_head = "main";
  git_repository* git = nullptr;
  if (int const code = git_repository_init_ext(&git, folder.c_str(), &options); code != 0)
    return tl::unexpected(Error{ErrorKind::machine, git_error(folder, code, "the repository cannot be created").message});
  repository->git.reset(git);
  TIK_CHECK(flush_to_disk(all_below(folder)));
  return SourceRepository(std::move(repository));
}

Result<SourceRepository> SourceRepository::open(std::filesystem::path const& folder) {
  auto repository = std::make_unique<Repository>();
  repository->folder = folder;
  git_repository* git = nullptr;
  if (int const code = git_repository_open_bare(&git, folder.c_str()); code != 0)
    return tl::unexpected(git_error(folder, GIT_ENOTFOUND, "is not a repository of source trees"));
  repository->git.reset(git);
  return SourceRepository(std::move(repository));
}

Result<std::string> SourceRepository::commit(std::filesystem::path const& folder, std::vector<std::string> const& parents,
                                             std::string const& message) {
  TIK_TRY(auto const files, read_source_folder(folder));
  return commit(files, parents, message);
}

Result<std::string> SourceRepository::commit(std::vector<SourceFile> const& files, std::vector<std::string> const& parents,
                                             std::string const& message) {
  if (files.empty()) return input_error("The source tree holds no file: it needs at least its manifest.");
  std::string id;
  auto const write = [&]() -> Result<void> {
    TIK_TRY(auto const written, write_commit(repository_->staging.get(), repository_->folder, files, parents, message));
    id = hex(written);
    return {};
  };
  TIK_CHECK(repository_->batch ? write() : together(write));
  return id;
}

// New objects are staged, flushed at once, and then moved into place: an object that is there is there completely.
Result<void> SourceRepository::together(std::function<Result<void>()> const& commits) {
  auto const staging = repository_->folder / "staging";
  if (!repository_->staging) {
    std::error_code error;
    std::filesystem::remove_all(staging, error); // what a crash or a failure left
    std::filesystem::create_directory(staging, error);
    if (error) return machine_error(fmt::format("{}: cannot be created: {}.", staging.string(), error.message()));
    TIK_TRY(repository_->staging, staging_view(repository_->folder, staging, repository_->staged));
  }
  repository_->batch = true;
  auto result = commits();
  repository_->batch = false;
  auto const names = std::exchange(repository_->batch_names, {});
  auto const staged = std::exchange(repository_->staged, {});
  if (result) result = publish(staging, {staged.begin(), staged.end()}, repository_->folder / "objects");
  if (!result) {
    repository_->staging.reset(); // it knows objects that are not kept
    return result;
  }
  for (auto const& [name, commit] : names) TIK_CHECK(keep(name, commit));
  return {};
}

Result<void> SourceRepository::keep(std::string const& name, std::string const& commit) {
  auto* git = repository_->git.get();
  TIK_TRY(auto const found, find_commit(repository_->objects(), repository_->folder, commit));
  if (repository_->batch) {
    repository_->batch_names.emplace_back(name, commit);
    return {};
  }
  auto const reference_name = "refs/tik/" + name;
  // A lock on the name is what a killed process left: there is one writer, and no other program writes these names.
  std::error_code ignored;
  std::filesystem::remove(repository_->folder / (reference_name + ".lock"), ignored);
  // Not flushed: the flush of the record that follows carries it, and the record is the truth.
  git_reference* reference = nullptr;
  int const code = git_reference_create(&reference, git, reference_name.c_str(), git_commit_id(found.get()), 1, nullptr);
  GitReference const owner(reference);
  if (code != 0)
    return tl::unexpected(git_error(repository_->folder, code, fmt::format("{} cannot be written", reference_name)));
  return {};
}

Result<std::string> SourceRepository::kept(std::string const& name) const {
  git_oid id;
  auto const reference_name = "refs/tik/" + name;
  int const code = git_reference_name_to_id(&id, repository_->git.get(), reference_name.c_str());
  if (code == GIT_ENOTFOUND) return std::string();
  if (code != 0) return tl::unexpected(git_error(repository_->folder, code, fmt::format("{} cannot be read", reference_name)));
  return hex(id);
}

bool SourceRepository::contains(std::string const& commit) const {
  return find_commit(repository_->objects(), repository_->folder, commit).has_value();
}

Result<void> SourceRepository::check_out(std::string const& commit, std::filesystem::path const& folder,
                                         OldContent old_content) const {
  TIK_TRY(auto const tree_files, files(commit));
  return write_source_folder(folder, tree_files, old_content);
}

Result<std::vector<SourceFile>> SourceRepository::files(std::string const& commit) const {
  auto* git = repository_->objects();
  TIK_TRY(auto const tree, find_tree(git, repository_->folder, commit));
  return read_tree(git, repository_->folder, tree.get());
}

Result<std::vector<std::string>> SourceRepository::list(std::string const& commit) const {
  auto* git = repository_->objects();
  TIK_TRY(auto const tree, find_tree(git, repository_->folder, commit));
  return tree_names(git, repository_->folder, tree.get());
}

Result<std::string> SourceRepository::read(std::string const& commit, std::string const& file) const {
  TIK_TRY(auto tree_files, files(commit));
  auto const found =
      std::find_if(tree_files.begin(), tree_files.end(), [&](SourceFile const& candidate) { return candidate.name == file; });
  if (found != tree_files.end()) return std::move(found->content);
  return input_error(fmt::format("'{}' is not in commit {}: list its files first.", file, commit));
}

Result<std::vector<SourceDigest>> SourceRepository::digests(std::string const& commit) const {
  auto* git = repository_->objects();
  TIK_TRY(auto const tree, find_tree(git, repository_->folder, commit));
  return tree_digests(git, repository_->folder, tree.get(), repository_->digests);
}

Result<std::vector<std::string>> SourceRepository::parents(std::string const& commit) const {
  TIK_TRY(auto const found, find_commit(repository_->objects(), repository_->folder, commit));
  std::vector<std::string> parents;
  for (unsigned i = 0; i < git_commit_parentcount(found.get()); ++i)
    parents.push_back(hex(*git_commit_parent_id(found.get(), i)));
  return parents;
}

} // namespace tik::ir
