#include "src/ir/sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/ir/git_objects.h"

namespace tik::ir {

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
  auto* git = repository_->git.get();
  auto const fail = [&](int code) {
    return tl::unexpected(git_error(repository_->folder, code, "the commit cannot be stored"));
  };
  TIK_TRY(auto const files, read_source_folder(folder));
  if (files.empty())
    return input_error(fmt::format("{}: holds no file: a source tree needs at least its manifest.", folder.string()));
  std::vector<GitCommit> owners;
  std::vector<git_commit const*> parent_commits;
  for (auto const& parent : parents) {
    TIK_TRY(auto found, find_commit(git, repository_->folder, parent));
    parent_commits.push_back(found.get());
    owners.push_back(std::move(found));
  }
  TIK_TRY(auto const tree_id, write_tree(git, repository_->folder, files));
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
  return hex(id);
}

Result<void> SourceRepository::keep(std::string const& name, std::string const& commit) {
  auto* git = repository_->git.get();
  TIK_TRY(auto const found, find_commit(git, repository_->folder, commit));
  auto const reference_name = "refs/tik/" + name;
  git_reference* reference = nullptr;
  int const code = git_reference_create(&reference, git, reference_name.c_str(), git_commit_id(found.get()), 0, nullptr);
  GitReference const owner(reference);
  if (code == 0) return {};
  git_oid existing;
  bool const there = code == GIT_EEXISTS && git_reference_name_to_id(&existing, git, reference_name.c_str()) == 0;
  if (there && git_oid_equal(&existing, git_commit_id(found.get())) != 0) return {};
  if (there)
    return damage_error(fmt::format("{}: {} points at {} already, not at {}.", repository_->folder.string(), reference_name,
                                    hex(existing), commit));
  return tl::unexpected(git_error(repository_->folder, code, fmt::format("{} cannot be written", reference_name)));
}

bool SourceRepository::contains(std::string const& commit) const {
  return find_commit(repository_->git.get(), repository_->folder, commit).has_value();
}

Result<void> SourceRepository::check_out(std::string const& commit, std::filesystem::path const& folder) const {
  auto* git = repository_->git.get();
  TIK_TRY(auto const tree, find_tree(git, repository_->folder, commit));
  TIK_TRY(auto const files, read_tree(git, repository_->folder, tree.get(), true));
  return write_source_folder(folder, files);
}

Result<std::vector<std::string>> SourceRepository::list(std::string const& commit) const {
  auto* git = repository_->git.get();
  TIK_TRY(auto const tree, find_tree(git, repository_->folder, commit));
  TIK_TRY(auto const files, read_tree(git, repository_->folder, tree.get(), false));
  std::vector<std::string> names;
  for (auto const& file : files) names.push_back(file.name);
  return names;
}

Result<std::string> SourceRepository::read(std::string const& commit, std::string const& file) const {
  auto* git = repository_->git.get();
  TIK_TRY(auto const tree, find_tree(git, repository_->folder, commit));
  TIK_TRY(auto files, read_tree(git, repository_->folder, tree.get(), true));
  auto const found =
      std::find_if(files.begin(), files.end(), [&](SourceFile const& candidate) { return candidate.name == file; });
  if (found != files.end()) return std::move(found->content);
  return input_error(fmt::format("'{}' is not in commit {}: list its files first.", file, commit));
}

Result<std::vector<std::string>> SourceRepository::parents(std::string const& commit) const {
  TIK_TRY(auto const found, find_commit(repository_->git.get(), repository_->folder, commit));
  std::vector<std::string> parents;
  for (unsigned i = 0; i < git_commit_parentcount(found.get()); ++i)
    parents.push_back(hex(*git_commit_parent_id(found.get(), i)));
  return parents;
}

} // namespace tik::ir
