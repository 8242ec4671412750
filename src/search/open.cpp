#include <fmt/format.h>

#include <system_error>

#include "src/base/files.h"
#include "src/search/impl.h"

namespace tik::search {
namespace {

// The sealed text is the store's; the copy for people must say the same, or someone believes in a specification that does not
// hold.
Result<void> compare_copy(Layout const& layout, ir::SearchIdentity const& identity, bool writable) {
  std::error_code error;
  if (!std::filesystem::exists(layout.specification(), error)) {
    if (!writable) return {};
    return write_file(layout.specification(), identity.specification_text);
  }
  TIK_TRY(std::string const copy, read_file(layout.specification()));
  if (copy == identity.specification_text) return {};
  return input_error(
      fmt::format("{}: it differs from the specification that this search was sealed with ({:.12}...), and a sealed "
                  "specification never changes; delete the file to have the sealed text written again, or start a new "
                  "search with it.",
                  layout.specification().string(), identity.seal));
}

} // namespace

Result<std::unique_ptr<Search::Impl>> Search::Impl::load(Layout layout, std::optional<WriterLock> lock) {
  bool const writable = lock.has_value();
  TIK_TRY(ir::Store store,
          ir::Store::open(layout.database(), writable ? ir::Store::Mode::read_write : ir::Store::Mode::read_only));
  TIK_TRY(ir::SearchIdentity identity, store.identity());
  TIK_TRY(spec::Specification specification,
          spec::parse_specification(identity.specification_text, identity.specification_file));
  if (std::string const seal = spec::seal(specification, identity.baseline_us);
      identity.checks_version == spec::checks_version && seal != identity.seal)
    return damage_error(
        fmt::format("{}: the stored specification and baselines hash to {:.12}..., not to the seal {:.12}...; the search "
                    "cannot be trusted any more.",
                    layout.database().string(), seal, identity.seal));
  if (writable && identity.checks_version != spec::checks_version)
    return input_error(fmt::format(
        "{0}: the search was sealed with checks version {1}, and this program has version {2}; audits of different "
        "versions are not comparable. It can still be read and exported; to go on, begin a new search from its best: "
        "`tik best {0} --export OUT`, then `tik new NEW --spec {0}/spec.toml --root OUT`.",
        layout.folder.string(), identity.checks_version, spec::checks_version));
  TIK_CHECK(compare_copy(layout, identity, writable));
  TIK_TRY(ir::SourceRepository sources, ir::SourceRepository::open(layout.sources()));
  TIK_TRY(State state, fold(store));
  if (writable) TIK_CHECK(renew_work(layout));
  return std::unique_ptr<Impl>(new Impl{std::move(layout),
                                        std::move(lock),
                                        std::move(specification),
                                        std::move(identity),
                                        std::move(store),
                                        std::move(sources),
                                        std::move(state),
                                        {},
                                        0});
}

Result<Search> Search::open(std::filesystem::path const& folder, Mode mode) {
  Layout layout{folder};
  std::error_code error;
  if (!std::filesystem::exists(layout.database(), error))
    return input_error(fmt::format("{}: no search is there (no search.db); create one with `tik new`.", folder.string()));
  std::optional<WriterLock> lock;
  if (mode == Mode::write) {
    TIK_TRY(lock, WriterLock::acquire(layout.lock()));
  }
  TIK_TRY(std::unique_ptr<Impl> impl, Impl::load(std::move(layout), std::move(lock)));
  return Search(std::move(impl));
}

Search::Search(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;
Search::~Search() = default;

spec::Specification const& Search::specification() const { return impl_->specification; }
ir::SearchIdentity const& Search::identity() const { return impl_->identity; }
State const& Search::state() const { return impl_->state; }
ir::Store const& Search::store() const { return impl_->store; }
ir::SourceRepository const& Search::sources() const { return impl_->sources; }
agent::View Search::view() const { return {impl_->specification, impl_->state, impl_->store, impl_->sources}; }
std::vector<StepTimes> const& Search::step_times() const { return impl_->step_times; }

Result<void> Search::Impl::writable() const {
  if (lock) return {};
  return input_error(fmt::format("{}: the search is open for reading only.", layout.folder.string()));
}

Result<std::string> Search::Impl::commit_of(ir::ImplementationId id) const {
  TIK_TRY(ir::Implementation const implementation, store.implementation(id));
  return implementation.commit;
}

Result<spec::Manifest> manifest_for(spec::Specification const& specification, std::filesystem::path const& folder,
                                    std::vector<SourceFile> const& files) {
  TIK_TRY(spec::Manifest manifest, spec::load_manifest(folder, files));
  auto const differs = [&](std::string_view key, std::string const& has, std::string const& asked) {
    return input_error(fmt::format("{}: {} is \"{}\", and the specification asks for \"{}\".",
                                   (folder / spec::manifest_file).string(), key, has, asked));
  };
  if (manifest.operator_name != specification.operator_name)
    return differs("operator", manifest.operator_name, specification.operator_name);
  if (manifest.target != specification.target) return differs("target", manifest.target, specification.target);
  return manifest;
}

std::map<std::string, double> latencies(evaluator::Report const& report) {
  std::map<std::string, double> by_workload;
  for (evaluator::WorkloadMeasurement const& entry : report.workloads) by_workload[entry.id] = entry.latency_us;
  return by_workload;
}

double stage_seconds(evaluator::Report const& report) {
  double seconds = 0;
  for (evaluator::Stage const& stage : report.stages) seconds += stage.seconds;
  return seconds;
}

} // namespace tik::search
