// libgit2's objects with owners, and its errors as values.
#pragma once

#include <git2.h>
#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/base/source_folder.h"
#include "src/ir/sources.h"

namespace tik::ir {

template <auto Free>
struct GitFree {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using GitRepository = std::unique_ptr<git_repository, GitFree<git_repository_free>>;
using GitCommit = std::unique_ptr<git_commit, GitFree<git_commit_free>>;
using GitTree = std::unique_ptr<git_tree, GitFree<git_tree_free>>;
using GitBlob = std::unique_ptr<git_blob, GitFree<git_blob_free>>;
using GitIndex = std::unique_ptr<git_index, GitFree<git_index_free>>;
using GitDiff = std::unique_ptr<git_diff, GitFree<git_diff_free>>;
using GitPatch = std::unique_ptr<git_patch, GitFree<git_patch_free>>;
using GitSignature = std::unique_ptr<git_signature, GitFree<git_signature_free>>;
using GitReference = std::unique_ptr<git_reference, GitFree<git_reference_free>>;
using GitOdb = std::unique_ptr<git_odb, GitFree<git_odb_free>>;
using GitConflicts = std::unique_ptr<git_index_conflict_iterator, GitFree<git_index_conflict_iterator_free>>;

// Starts libgit2 for as long as it lives, free of the user's and the system's git configuration.
class GitLibrary {
 public:
  GitLibrary();
  ~GitLibrary() { git_libgit2_shutdown(); }
  GitLibrary(GitLibrary const&) = delete;
  GitLibrary& operator=(GitLibrary const&) = delete;
};

// Size and hash of contents by blob id.
using BlobDigests = std::map<std::string, SourceDigest>;

struct SourceRepository::Repository {
  GitLibrary library; // outlives the repository
  std::filesystem::path folder;
  GitRepository git;
  std::set<std::string> staged; // new objects: file names below the staging folder; outlives the view, which adds to it
  GitRepository staging;        // the view that new objects are staged in; made by the first commit
  // While together() runs: new objects are visible, and these names are kept afterwards.
  bool batch = false;
  std::vector<std::pair<std::string, std::string>> batch_names;
  BlobDigests digests; // of the contents read so far

  // Where objects are looked up.
  git_repository* objects() const { return batch ? staging.get() : git.get(); }
};

// "FOLDER: WHAT: reason." as machine error where the system failed, as damage where stored objects are missing or wrong.
Error git_error(std::filesystem::path const& folder, int code, std::string const& what);

std::string hex(git_oid const& id);
Result<GitCommit> find_commit(git_repository* git, std::filesystem::path const& folder, std::string const& commit);
Result<GitTree> find_tree(git_repository* git, std::filesystem::path const& folder, std::string const& commit);

// The same objects with a store in memory on top: what is written there is gone afterwards.
Result<GitRepository> scratch_view(std::filesystem::path const& folder);
// The same objects with the folder `staging` on top: what is new is written there and nowhere else, and the names of its files
// are added to `staged`.
Result<GitRepository> staging_view(std::filesystem::path const& folder, std::filesystem::path const& staging,
                                   std::set<std::string>& staged);

// Writes blobs and trees; returns the root tree's id.
Result<git_oid> write_tree(git_repository* git, std::filesystem::path const& folder, std::vector<SourceFile> const& files);

// The files of a tree with their content, sorted by name.
Result<std::vector<SourceFile>> read_tree(git_repository* git, std::filesystem::path const& folder, git_tree const* tree);
// Their names alone.
Result<std::vector<std::string>> tree_names(git_repository* git, std::filesystem::path const& folder, git_tree const* tree);
// Their sizes and hashes; what is not in `known` is read and added.
Result<std::vector<SourceDigest>> tree_digests(git_repository* git, std::filesystem::path const& folder, git_tree const* tree,
                                               BlobDigests& known);

} // namespace tik::ir
