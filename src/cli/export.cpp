// `tik export` and `tik import`.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/files.h"
#include "src/base/sha256.h"
#include "src/cli/commands.h"
#include "src/cli/program.h"
#include "src/cli/transfer.h"
#include "src/report/format.h"
#include "src/search/layout.h"
#include "src/search/search.h"
#include "src/search/verify.h"

namespace tik::cli {
namespace {

namespace fs = std::filesystem;

// Removed again unless it was completed.
struct HalfMade {
  fs::path folder;
  bool keep = false;
  ~HalfMade() {
    std::error_code ignored;
    if (!keep) fs::remove_all(folder, ignored);
  }
};

Result<void> must_be_absent(fs::path const& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return {};
  return input_error(fmt::format("{}: it exists already; name a folder that does not.", folder.string()));
}

Result<void> create_folder(fs::path const& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) return machine_error(fmt::format("{}: cannot be created: {}.", folder.string(), failure.message()));
  return {};
}

Result<void> move_into_place(HalfMade& made, fs::path const& folder) {
  std::error_code failure;
  fs::rename(made.folder, folder, failure);
  if (failure) return machine_error(fmt::format("{}: cannot be moved into place: {}.", folder.string(), failure.message()));
  made.keep = true;
  return {};
}

fs::path part_of(fs::path const& folder) {
  fs::path const target = fs::absolute(folder).lexically_normal();
  return (target.has_filename() ? target : target.parent_path()).string() + ".part";
}

Result<void> git(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "git");
  auto const finished = run_program(arguments);
  if (!finished) return machine_error(finished.error().message + " Install git: apt-get install git.");
  if (finished->exit_code == 0) return {};
  return machine_error(fmt::format("git says: {}", report::one_line(finished->output, 400)));
}

} // namespace

Result<int> execute(Export const& options, Console const&) {
  TIK_CHECK(must_be_absent(options.out));
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  HalfMade made{part_of(options.out)};
  std::error_code ignored;
  fs::remove_all(made.folder, ignored);
  TIK_CHECK(create_folder(made.folder));

  Transfer transfer{search.identity(), {}};
  TIK_CHECK(search.store().read_journal([&](ir::JournalEntry const& entry) -> Result<void> {
    transfer.entries.push_back(entry);
    return {};
  }));
  fs::path const sources = fs::absolute(search::Layout{options.search}.sources());
  TIK_CHECK(
      git({"--git-dir=" + sources.string(), "bundle", "create", "--quiet", (made.folder / bundle_file).string(), "--all"}));
  TIK_TRY(std::string const bundle, read_file(made.folder / bundle_file));
  TIK_CHECK(write_file(made.folder / records_file, transfer_text(transfer, sha256_hex(bundle))));
  TIK_CHECK(move_into_place(made, options.out));
  print(fmt::format("{} with {} in {}\n", report::count(static_cast<std::int64_t>(transfer.entries.size()), "record"),
                    report::count(static_cast<std::int64_t>(search.state().implementations.size()), "implementation"),
                    options.out.string()));
  return 0;
}

Result<int> execute(Import const& options, Console const&) {
  TIK_CHECK(must_be_absent(options.folder));
  TIK_TRY(Transfer const transfer, read_transfer(options.from));
  HalfMade made{part_of(options.folder)};
  std::error_code ignored;
  fs::remove_all(made.folder, ignored);
  TIK_CHECK(create_folder(made.folder));

  search::Layout const layout{made.folder};
  TIK_CHECK(ir::SourceRepository::create(layout.sources()));
  fs::path const bundle = fs::absolute(options.from / bundle_file);
  if (auto const fetched = git({"--git-dir=" + layout.sources().string(), "-c", "transfer.fsckObjects=true", "fetch", "--quiet",
                                "--no-tags", bundle.string(), "refs/tik/*:refs/tik/*"});
      !fetched)
    return input_error(fmt::format("{}: its sources cannot be taken over: {}", bundle.string(), fetched.error().message));
  {
    TIK_TRY(ir::Store store, ir::Store::create(layout.database(), transfer.identity));
    TIK_CHECK(restore_records(store, transfer));
  }
  TIK_CHECK(write_file(layout.specification(), transfer.identity.specification_text));
  TIK_TRY(ir::Verification verification, search::verify(made.folder));
  std::vector<ir::Finding>& findings = verification.findings;
  auto const aged = std::find_if(findings.begin(), findings.end(), [](ir::Finding const& each) { return each.other_checks; });
  std::string const age = aged == findings.end() ? "" : fmt::format("Note: {}\n", aged->sentence);
  if (aged != findings.end()) findings.erase(aged);
  if (!findings.empty())
    return input_error(fmt::format("{}: the search that it holds is not sound ({}): {}: {}", options.from.string(),
                                   report::count(static_cast<std::int64_t>(findings.size()), "finding"), findings.front().place,
                                   findings.front().sentence));
  TIK_CHECK(move_into_place(made, options.folder));
  print(fmt::format("{} with {}, verified\n{}Next: tik status {}\n", options.folder.string(),
                    report::count(static_cast<std::int64_t>(transfer.entries.size()), "record"), age, options.folder.string()));
  return 0;
}

} // namespace tik::cli
