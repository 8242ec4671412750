// The source trees of a search: a bare git repository in which every implementation is a commit and a commit's parents are the
// parent implementations, so the derivation graph is the commit graph.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/source_folder.h"

namespace tik::ir {

struct FileChange {
  std::string file;
  enum class Kind { added, removed, modified } kind = Kind::modified;
  std::vector<std::pair<int, int>> lines; // changed line ranges in the new file (first, last); of the old file when removed
};

struct Difference {
  std::string text; // unified diff
  std::vector<FileChange> files;
};

struct MergeOutcome {
  std::vector<std::string> conflicts; // files that both sides changed in the same place; empty: `folder` holds the merged tree
};

class SourceRepository {
 public:
  static Result<SourceRepository> create(std::filesystem::path const& folder);
  static Result<SourceRepository> open(std::filesystem::path const& folder);
  SourceRepository(SourceRepository&&) noexcept;
  SourceRepository& operator=(SourceRepository&&) noexcept;
  ~SourceRepository();

  // Commits the content of `folder` (regular files and folders only: a symbolic link, a device or a file name that is not UTF-8
  // is an input error that names it). Objects are durable (fsync) when this returns. The commit is kept alive by keep().
  Result<std::string> commit(std::filesystem::path const& folder, std::vector<std::string> const& parents,
                             std::string const& message);
  // The same for files in memory.
  Result<std::string> commit(std::vector<SourceFile> const& files, std::vector<std::string> const& parents,
                             std::string const& message);
  // Makes all commits inside of `commits` durable at once, when this returns; on its error none of them is kept. For histories
  // that are written at once. Names that keep() was given are written after the objects.
  Result<void> together(std::function<Result<void>()> const& commits);
  // Points refs/tik/NAME at the commit ("I7"), so that git's garbage collection keeps it and people find it by its id. Called
  // before the record is written; a name that a crash left behind on a commit without record moves to the new one.
  Result<void> keep(std::string const& name, std::string const& commit);
  bool contains(std::string const& commit) const;

  // Writes the tree into `folder`, which then holds nothing else.
  Result<void> check_out(std::string const& commit, std::filesystem::path const& folder,
                         OldContent old_content = OldContent::refuse) const;
  Result<Difference> diff(std::string const& from, std::string const& to) const;
  // Difference between a commit and a folder on disk.
  Result<Difference> diff_folder(std::string const& from, std::filesystem::path const& folder) const;
  // Three-way merge of two commits over their merge base, written into `folder`; with conflicts nothing is written.
  Result<MergeOutcome> merge(std::string const& ours, std::string const& theirs, std::filesystem::path const& folder,
                             OldContent old_content = OldContent::refuse) const;
  // All files of a commit, sorted by name.
  Result<std::vector<SourceFile>> files(std::string const& commit) const;
  // File names and one file's content at a commit.
  Result<std::vector<std::string>> list(std::string const& commit) const;
  Result<std::string> read(std::string const& commit, std::string const& file) const;
  // Size and hash of every file, for hash_source_digests; a file that several commits share is read once.
  Result<std::vector<SourceDigest>> digests(std::string const& commit) const;
  // The commit that refs/tik/NAME points at; empty when there is no such reference.
  Result<std::string> kept(std::string const& name) const;
  // The commit's parents, in order.
  Result<std::vector<std::string>> parents(std::string const& commit) const;

 private:
  struct Repository;
  explicit SourceRepository(std::unique_ptr<Repository> repository);
  std::unique_ptr<Repository> repository_;
};

} // namespace tik::ir
