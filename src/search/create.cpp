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

std::map<std::string, double> latencies(evaluator::Report const& report) {
  std::map<std::string, double> by_workload;
  for (evaluator::WorkloadMeasurement const& entry : report.workloads) by_workload[entry.id] = entry.latency_us;
  return by_workload;
}

struct Root {
  ir::Implementation implementation;
  evaluator::Report report;
};

// Commits the root, and audits what was committed: the folder it came from may change meanwhile.
Result<Root> audit_root(Layout const& layout, spec::Specification const& specification, ir::SourceRepository& sources,
                        std::filesystem::path const& root, Observer* observer, std::atomic<bool> const* cancel) {
  TIK_TRY(std::vector<SourceFile> const files, read_source_folder(root));
  TIK_TRY(spec::Manifest manifest, manifest_for(specification, root, files));
  TIK_TRY(std::string commit, sources.commit(files, {}, fmt::format("I0: the root of {}", specification.name)));
  TIK_CHECK(sources.keep("I0", commit));
  std::filesystem::path const checked_out = layout.work() / "candidate";
  TIK_CHECK(write_source_folder(checked_out, files));
  evaluator::Request request{specification,    spec::seal(specification), checked_out, {},    {},
                             layout.scratch(), layout.build_cache(),      {},          cancel};
  if (observer) request.progress = [observer](std::string_view stage, double fraction) { observer->stage(stage, fraction); };
  TIK_TRY(evaluator::Report report, evaluator::evaluate(request));
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

} // namespace

Result<Search> Search::create(std::filesystem::path const& folder, std::filesystem::path const& spec_file,
                              std::filesystem::path const& root, Observer* observer, std::atomic<bool> const* cancel) {
  TIK_CHECK(must_be_free(folder));
  TIK_TRY(spec::Specification const specification, spec::load_specification(spec_file));
  if (root.empty() && specification.root.empty())
    return input_error(fmt::format("{}: root: it names no root implementation, and none was given.", spec_file.string()));
  std::filesystem::path const source = root.empty() ? spec_file.parent_path() / specification.root : root;

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
    TIK_TRY(Root audited, audit_root(part, specification, sources, source, observer, cancel));
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
