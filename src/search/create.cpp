// Initialization (paper, section 5): a search exists only once its root is verified, completely measured and within the limits.
#include <fmt/format.h>

#include <system_error>

#include "src/base/files.h"
#include "src/search/impl.h"

namespace tik::search {
namespace {

// Everything is built beside the final place and renamed into it at the end; what is not renamed is removed.
struct HalfMade {
  std::filesystem::path folder;
  bool keep = false;
  ~HalfMade() {
    std::error_code ignored;
    if (!keep) std::filesystem::remove_all(folder, ignored);
  }
};

Result<void> must_be_free(std::filesystem::path const& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return {};
  if (std::filesystem::is_directory(folder, error) && std::filesystem::is_empty(folder, error)) return {};
  return input_error(fmt::format("{}: it exists already; a new search needs a folder of its own.", folder.string()));
}

struct Root {
  ir::Implementation implementation;
  evaluator::Report report;
};

evaluator::Bundle bundle_of_root(spec::Specification const& specification, std::string specification_file,
                                 std::vector<SourceFile> files) {
  evaluator::Bundle bundle;
  bundle.specification = specification;
  bundle.specification_file = std::move(specification_file);
  bundle.seal = spec::seal(specification);
  std::string source_sha256 = hash_source_files(files);
  bundle.candidates.push_back({"I0", std::move(source_sha256), std::move(files)});
  return bundle;
}

Result<evaluator::Report> judged(RootJudge const& judge, evaluator::Bundle const& bundle) {
  TIK_TRY(evaluator::Report report, judge(bundle));
  evaluator::HostReport const root{bundle.candidates.front().id, report};
  TIK_CHECK(evaluator::answers(root, evaluator::expected_of(bundle, bundle.candidates.front()), bundle.specification));
  return report;
}

// Commits the root, and audits what was committed: the folder it came from may change meanwhile.
Result<Root> audit_root(Layout const& layout, spec::Specification const& specification, std::string const& specification_file,
                        ir::SourceRepository& sources, std::filesystem::path const& root, Observer* observer,
                        std::atomic<bool> const* cancel, RootJudge const& judge) {
  TIK_TRY(std::vector<SourceFile> const files, read_source_folder(root));
  TIK_TRY(spec::Manifest manifest, manifest_for(specification, root, files));
  TIK_TRY(std::string commit, sources.commit(files, {}, fmt::format("I0: the root of {}", specification.name)));
  TIK_CHECK(sources.keep("I0", commit));
  std::filesystem::path const checked_out = layout.work() / "candidate";
  TIK_CHECK(write_source_folder(checked_out, files));
  evaluator::Request request{specification,    spec::seal(specification), checked_out, {},    {},
                             layout.scratch(), layout.build_cache(),      {},          cancel};
  if (observer) request.progress = [observer](std::string_view stage, double fraction) { observer->stage(stage, fraction); };
  evaluator::Report report;
  if (judge) {
    TIK_TRY(report, judged(judge, bundle_of_root(specification, specification_file, files)));
  } else {
    TIK_TRY(report, evaluator::evaluate(request));
  }
  TIK_CHECK(may_start(specification, report));
  ir::Implementation implementation;
  implementation.commit = std::move(commit);
  implementation.source_sha256 = report.source_sha256;
  implementation.target = manifest.target;
  implementation.manifest = std::move(manifest);
  return Root{std::move(implementation), std::move(report)};
}

// The sealed records of a search that has just begun. Closed again before the folder is renamed.
Result<void> write_records(Layout const& layout, spec::Specification const& specification,
                           std::string const& specification_file, Root root) {
  ir::SearchIdentity identity;
  identity.specification_text = specification.text;
  identity.specification_file = specification_file;
  identity.baseline_us = latencies(root.report);
  identity.seal = spec::seal(specification, identity.baseline_us);
  identity.checks_version = spec::checks_version;
  identity.created_at = utc_now();
  TIK_TRY(ir::Store store, ir::Store::create(layout.database(), identity));
  TIK_TRY(ir::Implementation const implementation, store.append_root(std::move(root.implementation)));
  std::optional<double> const total_us = root.report.total_us(specification);
  ir::Audit audit;
  audit.implementation = implementation.id;
  audit.report = std::move(root.report);
  TIK_CHECK(store.append(std::move(audit), true, true, total_us));
  return {};
}

// The folder that was given, or what the specification names.
Result<std::filesystem::path> root_folder(spec::Specification const& specification, std::filesystem::path const& spec_file,
                                          std::filesystem::path const& root) {
  if (!root.empty()) return root;
  if (!specification.root.empty()) return spec_file.parent_path() / specification.root;
  return input_error(fmt::format(
      "{}: root: it names no root implementation: give its folder with --root, or as root = \"FOLDER\" in this file.",
      spec_file.string()));
}

} // namespace

Result<evaluator::Bundle> Search::root_bundle(std::filesystem::path const& spec_file, std::filesystem::path const& root) {
  TIK_TRY(spec::Specification const specification, spec::load_specification(spec_file));
  TIK_TRY(std::filesystem::path const source, root_folder(specification, spec_file, root));
  TIK_TRY(std::vector<SourceFile> files, read_source_folder(source));
  TIK_CHECK(manifest_for(specification, source, files));
  return bundle_of_root(specification, spec_file.filename().string(), std::move(files));
}

Result<Search> Search::create(std::filesystem::path const& folder, std::filesystem::path const& spec_file,
                              std::filesystem::path const& root, Observer* observer, std::atomic<bool> const* cancel,
                              RootJudge const& judge) {
  TIK_CHECK(must_be_free(folder));
  TIK_TRY(spec::Specification const specification, spec::load_specification(spec_file));
  TIK_TRY(std::filesystem::path const source, root_folder(specification, spec_file, root));
  std::filesystem::path const target = std::filesystem::absolute(folder).lexically_normal();
  std::filesystem::path const place = target.has_filename() ? target : target.parent_path();
  Layout const part{place.string() + ".part"};
  std::error_code error;
  std::filesystem::create_directories(part.folder, error);
  if (error)
    return machine_error(
        fmt::format("{}: cannot be created: {}; choose a folder you may write to.", part.folder.string(), error.message()));
  TIK_TRY(WriterLock lock, WriterLock::acquire(part.lock()));
  HalfMade half_made{part.folder};
  for (std::filesystem::path const& left : {part.database(), part.sources(), part.work()})
    std::filesystem::remove_all(left, error);
  TIK_CHECK(renew_work(part));
  {
    TIK_TRY(ir::SourceRepository sources, ir::SourceRepository::create(part.sources()));
    TIK_TRY(Root audited,
            audit_root(part, specification, spec_file.filename().string(), sources, source, observer, cancel, judge));
    TIK_CHECK(write_file(part.specification(), specification.text));
    TIK_CHECK(write_records(part, specification, spec_file.filename().string(), std::move(audited)));
  }
  TIK_CHECK(flush_folder(part.folder));
  std::filesystem::rename(part.folder, place, error);
  if (error) return machine_error(fmt::format("{}: cannot be moved into place: {}.", place.string(), error.message()));
  half_made.keep = true;
  TIK_CHECK(flush_folder(place.parent_path()));
  TIK_TRY(std::unique_ptr<Impl> impl, Impl::load(Layout{place}, std::move(lock)));
  if (observer) {
    TIK_TRY(ir::Audit const audit, impl->store.audit(*impl->state.awaiting_decision));
    observer->audited(audit, impl->state, true);
  }
  return Search(std::move(impl));
}

} // namespace tik::search
