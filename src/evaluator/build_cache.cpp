#include "src/evaluator/build_cache.h"

#include <sys/stat.h>

#include "src/base/files.h"
#include "src/base/sha256.h"
#include "src/evaluator/scratch.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;

// DIR/KEY/library/library.so and DIR/KEY/entry.json.
constexpr char entry_file[] = "entry.json";
constexpr char library_folder[] = "library";

std::string entry_text(Built const& built) {
  Json const entry = {{"schema", 1},
                      {"library_name", built.library_name},
                      {"library_sha256", built.library_sha256},
                      {"details", built.details},
                      {"remarks",
                       {{"available", built.remarks.available},
                        {"source", built.remarks.source},
                        {"reason", built.remarks.reason},
                        {"data", built.remarks.data}}}};
  return entry.dump(1);
}

Built built_from(Json const& entry, fs::path const& folder) {
  Built built;
  built.folder = folder / library_folder;
  built.library_name = entry.at("library_name").get<std::string>();
  built.library_sha256 = entry.at("library_sha256").get<std::string>();
  built.details = entry.at("details");
  built.details["cached"] = true;
  Json const& remarks = entry.at("remarks");
  built.remarks = {"compiler", remarks.at("available").get<bool>(), remarks.at("source").get<std::string>(),
                   remarks.at("reason").get<std::string>(), remarks.at("data")};
  return built;
}

Result<void> write_entry(fs::path const& folder, std::string const& library, Built const& built) {
  TIK_TRY(fs::path const inner, make_folder(folder, library_folder));
  // Not flushed: what a power loss made of it is found out by its hash.
  TIK_CHECK(write_file(inner / built.library_name, library, Flush::no));
  chmod((inner / built.library_name).c_str(), 0755);
  return write_file(folder / entry_file, entry_text(built), Flush::no);
}

} // namespace

std::optional<Built> find_cached(fs::path const& cache, std::string const& key) {
  if (cache.empty()) return std::nullopt;
  Result<std::string> const text = read_file(cache / key / entry_file);
  if (!text) return std::nullopt;
  try {
    Built built = built_from(Json::parse(*text), cache / key);
    Result<std::string> const library = read_file(built.folder / built.library_name);
    if (!library || sha256_hex(*library) != built.library_sha256) return std::nullopt;
    return built;
  } catch (Json::exception const&) {
    return std::nullopt;
  }
}

Result<fs::path> keep_built(fs::path const& cache, std::string const& key, fs::path const& scratch, std::string const& library,
                            Built const& built) {
  if (cache.empty()) {
    TIK_TRY(fs::path const folder, make_folder(scratch, "built-" + key.substr(0, 16)));
    TIK_CHECK(write_entry(folder, library, built));
    return folder / library_folder;
  }
  TIK_TRY(fs::path const existing, make_folder(cache, ""));
  TIK_TRY(ScratchFolder const part, ScratchFolder::make(cache, "part"));
  TIK_CHECK(write_entry(part.path(), library, built));
  fs::path const entry = cache / key;
  std::error_code problem;
  fs::rename(part.path(), entry, problem);
  if (problem && find_cached(cache, key)) return entry / library_folder; // another evaluation was first
  if (problem) {
    // A damaged entry stands in the way.
    fs::remove_all(entry, problem);
    fs::rename(part.path(), entry, problem);
  }
  if (problem) return machine_error(entry.string() + ": the built library cannot be kept: " + problem.message() + ".");
  return entry / library_folder;
}

} // namespace tik::evaluator
