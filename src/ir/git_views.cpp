// Views of a repository's objects with another store on top, so that new objects do not go where the old ones are.
#include <fmt/format.h>

#include "src/ir/git_objects.h"

namespace tik::ir {
namespace {

constexpr int compression = 1; // sources are small, and every step waits for it

// Loose objects in a folder of their own, and a list of those that were written. Reads and writes are libgit2's.
struct StagingStore {
  git_odb_backend interface; // first: libgit2 knows this part only
  git_odb_backend* loose;
  std::set<std::string>* staged;
};

StagingStore& store(git_odb_backend* backend) { return *reinterpret_cast<StagingStore*>(backend); }

int read_object(void** data, std::size_t* bytes, git_object_t* type, git_odb_backend* backend, git_oid const* id) {
  auto* const loose = store(backend).loose;
  return loose->read(data, bytes, type, loose, id);
}

int read_header(std::size_t* bytes, git_object_t* type, git_odb_backend* backend, git_oid const* id) {
  auto* const loose = store(backend).loose;
  return loose->read_header(bytes, type, loose, id);
}

int exists(git_odb_backend* backend, git_oid const* id) {
  auto* const loose = store(backend).loose;
  return loose->exists(loose, id);
}

int write_object(git_odb_backend* backend, git_oid const* id, void const* data, std::size_t bytes, git_object_t type) {
  auto* const loose = store(backend).loose;
  if (int const code = loose->write(loose, id, data, bytes, type); code != 0) return code;
  auto const name = hex(*id);
  store(backend).staged->insert(fmt::format("{:.2}/{}", name, name.c_str() + 2));
  return 0;
}

void free_store(git_odb_backend* backend) {
  store(backend).loose->free(store(backend).loose);
  delete &store(backend);
}

Result<GitRepository> layered_view(std::filesystem::path const& folder, git_odb_backend* top) {
  auto const fail = [&](int code) { return tl::unexpected(git_error(folder, code, "its objects cannot be opened")); };
  git_odb* odb = nullptr;
  if (int const code = git_odb_new(&odb); code != 0) {
    top->free(top);
    return fail(code);
  }
  GitOdb const owner(odb);
  if (int const code = git_odb_add_backend(odb, top, 999); code != 0) {
    top->free(top);
    return fail(code);
  }
  if (int const code = git_odb_add_disk_alternate(odb, (folder / "objects").c_str()); code != 0) return fail(code);
  git_repository* git = nullptr;
  if (int const code = git_repository_wrap_odb(&git, odb); code != 0) return fail(code);
  return GitRepository(git);
}

} // namespace

Result<GitRepository> scratch_view(std::filesystem::path const& folder) {
  git_odb_backend* memory = nullptr;
  if (int const code = git_mempack_new(&memory); code != 0)
    return tl::unexpected(git_error(folder, code, "its objects cannot be opened"));
  return layered_view(folder, memory);
}

Result<GitRepository> staging_view(std::filesystem::path const& folder, std::filesystem::path const& staging,
                                   std::set<std::string>& staged) {
  git_odb_backend* loose = nullptr;
  if (int const code = git_odb_backend_loose(&loose, staging.c_str(), compression, 0, 0777, 0444); code != 0)
    return tl::unexpected(git_error(folder, code, "no new objects can be made"));
  auto* const top = new StagingStore{{}, loose, &staged};
  git_odb_init_backend(&top->interface, GIT_ODB_BACKEND_VERSION);
  top->interface.read = read_object;
  top->interface.read_header = read_header;
  top->interface.exists = exists;
  top->interface.write = write_object;
  top->interface.free = free_store;
  return layered_view(folder, &top->interface);
}

} // namespace tik::ir
