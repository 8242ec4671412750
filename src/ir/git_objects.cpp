#include "src/ir/git_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "src/base/sha256.h"

namespace tik::ir {
namespace {

constexpr std::size_t largest_cached_blob = 1 << 20;
constexpr ssize_t largest_cache = 48 << 20;

Result<std::string> blob_content(git_repository* git, std::filesystem::path const& folder, git_oid const& id,
                                 std::string const& name) {
  git_blob* blob = nullptr;
  if (int const code = git_blob_lookup(&blob, git, &id); code != 0)
    return tl::unexpected(git_error(folder, code, fmt::format("the content of '{}' ({}) cannot be read", name, hex(id))));
  GitBlob const owner(blob);
  return std::string(static_cast<char const*>(git_blob_rawcontent(blob)), static_cast<std::size_t>(git_blob_rawsize(blob)));
}

// Calls `visit(name, id, executable) -> Result<void>` for every file of a tree. commit() writes plain names and files only, but
// the repository may come from elsewhere: anything else is refused here, before it reaches a file system.
using VisitFile = std::function<Result<void>(std::string const& name, git_oid const& id, bool executable)>;

Result<void> walk_tree(git_repository* git, std::filesystem::path const& folder, git_tree const* tree,
                       std::string const& prefix, int depth, VisitFile const& visit) {
  auto const damaged = [&](std::string_view name, std::string_view sentence) {
    return damage_error(fmt::format("{}: a stored tree holds '{}{}', which {}", folder.string(), prefix, name, sentence));
  };
  if (depth > deepest_source_folder) return damaged("", "lies too deep.");
  for (std::size_t i = 0; i < git_tree_entrycount(tree); ++i) {
    auto const* entry = git_tree_entry_byindex(tree, i);
    std::string const name = git_tree_entry_name(entry);
    if (auto const reason = bad_source_name(name); !reason.empty()) return damaged(name, reason);
    auto const mode = git_tree_entry_filemode(entry);
    if (mode == GIT_FILEMODE_TREE) {
      git_tree* child = nullptr;
      if (int const code = git_tree_lookup(&child, git, git_tree_entry_id(entry)); code != 0)
        return tl::unexpected(git_error(folder, code, fmt::format("the folder '{}{}' cannot be read", prefix, name)));
      GitTree const owner(child);
      TIK_CHECK(walk_tree(git, folder, child, prefix + name + "/", depth + 1, visit));
    } else if (mode == GIT_FILEMODE_BLOB || mode == GIT_FILEMODE_BLOB_EXECUTABLE) {
      TIK_CHECK(visit(prefix + name, *git_tree_entry_id(entry), mode == GIT_FILEMODE_BLOB_EXECUTABLE));
    } else {
      return damaged(name, "is neither a regular file nor a folder.");
    }
  }
  return {};
}

} // namespace

GitLibrary::GitLibrary() {
  git_libgit2_init();
  static std::once_flag once;
  std::call_once(once, [] {
    for (int const level :
         {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL})
      git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "");
    // A search directory may belong to another user, for example on a shared file system.
    git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
    // A step reads the files of few trees again and again.
    git_libgit2_opts(GIT_OPT_SET_CACHE_OBJECT_LIMIT, GIT_OBJECT_BLOB, largest_cached_blob);
    git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, largest_cache);
  });
}

Error git_error(std::filesystem::path const& folder, int code, std::string const& what) {
  auto const* last = git_error_last();
  std::string const reason = last == nullptr || last->message == nullptr ? "no reason given" : last->message;
  bool const system =
      last != nullptr && (last->klass == GIT_ERROR_OS || last->klass == GIT_ERROR_FILESYSTEM) && code != GIT_ENOTFOUND;
  if (system || (last != nullptr && last->klass == GIT_ERROR_NOMEMORY)) {
    return {ErrorKind::machine,
            fmt::format("{}: {}: {}: check free space and permissions, then run again.", folder.string(), what, reason)};
  }
  return {ErrorKind::damage,
          fmt::format("{}: {}: {}: run `tik verify` to see what is still readable.", folder.string(), what, reason)};
}

std::string hex(git_oid const& id) {
  char text[GIT_OID_HEXSZ + 1];
  return git_oid_tostr(text, sizeof text, &id);
}

Result<GitCommit> find_commit(git_repository* git, std::filesystem::path const& folder, std::string const& commit) {
  git_oid id;
  if (commit.size() != GIT_OID_HEXSZ || git_oid_fromstr(&id, commit.c_str()) != 0)
    return input_error(fmt::format("'{}' is not a commit id: it has 40 hexadecimal digits.", commit.substr(0, 50)));
  git_commit* found = nullptr;
  if (int const code = git_commit_lookup(&found, git, &id); code != 0)
    return tl::unexpected(git_error(folder, code, fmt::format("the commit {} cannot be read", commit)));
  return GitCommit(found);
}

Result<GitTree> find_tree(git_repository* git, std::filesystem::path const& folder, std::string const& commit) {
  TIK_TRY(auto const found, find_commit(git, folder, commit));
  git_tree* tree = nullptr;
  if (int const code = git_commit_tree(&tree, found.get()); code != 0)
    return tl::unexpected(git_error(folder, code, fmt::format("the tree of commit {} cannot be read", commit)));
  return GitTree(tree);
}

Result<git_oid> write_tree(git_repository* git, std::filesystem::path const& folder, std::vector<SourceFile> const& files) {
  git_index* index = nullptr;
  if (int const code = git_index_new(&index); code != 0) return tl::unexpected(git_error(folder, code, "no index can be made"));
  GitIndex const owner(index);
  git_odb* odb = nullptr;
  if (int const code = git_repository_odb(&odb, git); code != 0)
    return tl::unexpected(git_error(folder, code, "its objects cannot be opened"));
  GitOdb const odb_owner(odb);
  for (auto const& file : files) {
    git_index_entry entry{};
    entry.path = file.name.c_str();
    entry.mode = file.executable ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
    int code = git_odb_hash(&entry.id, file.content.data(), file.content.size(), GIT_OBJECT_BLOB);
    if (code == 0 && git_odb_exists_ext(odb, &entry.id, GIT_ODB_LOOKUP_NO_REFRESH) == 0)
      code = git_blob_create_from_buffer(&entry.id, git, file.content.data(), file.content.size());
    if (code == 0) code = git_index_add(index, &entry);
    if (code != 0) return tl::unexpected(git_error(folder, code, fmt::format("'{}' cannot be stored", file.name)));
  }
  git_oid id;
  if (int const code = git_index_write_tree_to(&id, index, git); code != 0)
    return tl::unexpected(git_error(folder, code, "the source tree cannot be stored"));
  return id;
}

Result<std::vector<SourceFile>> read_tree(git_repository* git, std::filesystem::path const& folder, git_tree const* tree) {
  std::vector<SourceFile> files;
  TIK_CHECK(
      walk_tree(git, folder, tree, "", 0, [&](std::string const& name, git_oid const& id, bool executable) -> Result<void> {
        TIK_TRY(auto content, blob_content(git, folder, id, name));
        files.push_back({name, std::move(content), executable});
        return {};
      }));
  std::sort(files.begin(), files.end(), [](SourceFile const& a, SourceFile const& b) { return a.name < b.name; });
  return files;
}

Result<std::vector<std::string>> tree_names(git_repository* git, std::filesystem::path const& folder, git_tree const* tree) {
  std::vector<std::string> names;
  TIK_CHECK(walk_tree(git, folder, tree, "", 0, [&](std::string const& name, git_oid const&, bool) -> Result<void> {
    names.push_back(name);
    return {};
  }));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<SourceDigest>> tree_digests(git_repository* git, std::filesystem::path const& folder, git_tree const* tree,
                                               BlobDigests& known) {
  std::vector<SourceDigest> digests;
  TIK_CHECK(walk_tree(git, folder, tree, "", 0, [&](std::string const& name, git_oid const& id, bool) -> Result<void> {
    auto entry = known.find(hex(id));
    if (entry == known.end()) {
      TIK_TRY(auto const content, blob_content(git, folder, id, name));
      entry = known.emplace(hex(id), SourceDigest{{}, content.size(), sha256_hex(content)}).first;
    }
    digests.push_back({name, entry->second.bytes, entry->second.content_sha256});
    return {};
  }));
  return digests;
}

} // namespace tik::ir
