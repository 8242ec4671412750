// A search folder written through the store itself, after the example of the paper (section 5.5): an intermediate
// implementation that is not promoted enables one that is, an alternative fails its bitwise check, another is archived and
// later merged. The audits' reports are data of this file, so that what is printed from them is known.
#pragma once

#include <fmt/format.h>

#include <stdexcept>

#include "src/evaluator/evaluator.h"
#include "src/ir/sources.h"
#include "src/ir/store.h"
#include "src/search/rules.h"
#include "src/spec/manifest.h"
#include "tests/cli/program.h"
#include "tests/sample_texts.h"

namespace tik::cli::test {

template <class T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void value(Result<void> result) {
  if (!result) throw std::runtime_error(result.error().message);
}

inline std::string sample_specification() {
  return tik::test::SampleSpecification{.name = "sample",
                                        .query_heads = 8,
                                        .kv_heads = 2,
                                        .full_tokens = 256,
                                        .decode_tokens = 1024,
                                        .full = "layout = \"packed\"\ncache = \"cold\"\n",
                                        .decode = "batch = 4\nlayout = \"paged\"\npage_size = 16\ncache = \"cold\"\n",
                                        .checks = R"(seed = 7
prompts = [1, 17]
responses = [1, 5]
batches = [1]
page_sizes = [16]
cuts = 1
repeats = 2
accuracy_max_error = 0.02
lse_max_error = 0.01
accuracy_distributions = ["normal"]
)",
                                        .rest = R"([measurement]
rounds = 3
max_rounds = 5

[stopping]
patience = 30
)"}
      .text();
}

inline std::string sample_manifest() {
  return tik::test::SampleManifest{
      .description = "A sample.",
      .files = "full = [\"full.cpp\"]\ndecode = [\"decode.cpp\"]\nshared = [\"numerics.h\"]\n",
      .command = R"("g++", "-shared", "-fPIC", "-I", "{include}", "-o", "{output}", "full.cpp", "decode.cpp")",
      .rest = R"([[numerics]]
class = "reduction-order"
requirement = "Both entry points add in order of k."
)"}
      .text();
}

// The hash that covers every record of a search; equal before and after when nothing was recorded.
inline std::string records_of(std::filesystem::path const& search) {
  ir::Store const store = value(ir::Store::open(search / "search.db", ir::Store::Mode::read_only));
  std::string last;
  value(store.read_journal([&](ir::JournalEntry const& entry) -> Result<void> {
    last = entry.sha256;
    return {};
  }));
  return last;
}

class SampleSearch {
 public:
  explicit SampleSearch(std::filesystem::path folder) : folder_(std::move(folder)), source_(folder_.string() + ".source") {
    std::filesystem::create_directories(folder_);
    spill(folder_ / "spec.toml", sample_specification());
    auto const specification = value(spec::parse_specification(sample_specification(), "spec.toml"));
    ir::SearchIdentity identity{sample_specification(),
                                "spec.toml",
                                "",
                                {{"full-256", 2000.0}, {"decode-1024", 4000.0}},
                                std::string(spec::checks_version),
                                "2026-01-31T12:34:56.789Z"};
    seal_ = identity.seal = spec::seal(specification, identity.baseline_us);
    sources_.emplace(value(ir::SourceRepository::create(folder_ / "sources.git")));
    store_.emplace(value(ir::Store::create(folder_ / "search.db", identity)));
    write_records();
    store_.reset();
    std::filesystem::remove_all(source_);
  }

 private:
  using Ids = std::vector<ir::ImplementationId>;

  // What the two entry points' files say; each number is the implementation that wrote it.
  struct Versions {
    int full = 0, decode = 0;
  };

  // The source tree, committed on top of its parents.
  ir::Implementation implementation(int number, Versions versions, Ids const& parents) {
    std::filesystem::remove_all(source_);
    spill(source_ / "implementation.toml", sample_manifest());
    spill(source_ / "full.cpp", fmt::format("// full, version {}\n", versions.full));
    spill(source_ / "decode.cpp", fmt::format("// decode, version {}\n", versions.decode));
    spill(source_ / "numerics.h", "// numerics\n");
    std::vector<std::string> commits;
    for (auto const parent : parents) commits.push_back(records_.at(static_cast<std::size_t>(parent.number)).commit);
    ir::Implementation record;
    record.commit = value(sources_->commit(source_, commits, fmt::format("I{}", number)));
    value(sources_->keep(fmt::format("I{}", number), record.commit));
    record.source_sha256 = value(evaluator::hash_source_tree(source_));
    record.parents = parents;
    record.target = "cpu";
    record.manifest = value(spec::load_manifest(source_));
    records_.push_back(record);
    return record;
  }

  evaluator::Report report(int number, double full_us, double decode_us) const {
    evaluator::Report report;
    report.specification_sha256 = seal_;
    report.source_sha256 = records_.at(static_cast<std::size_t>(number)).source_sha256;
    report.incumbent_sha256 = number > 0 ? records_.front().source_sha256 : "";
    report.evaluator_version = "1";
    report.started_at = "2026-01-31T12:35:00.000Z";
    report.seconds = 1.5;
    report.machine = {{"cpu", "sample processor"}, {"cores", 2}};
    report.protections = {"namespaces", "seccomp"};
    bool const failed = full_us == 0;
    for (auto const* stage : {"build", "consistency", "accuracy", "robustness", "measurement", "evidence"}) {
      bool const here = failed && stage == std::string_view("consistency");
      bool const after = failed && !here && stage != std::string_view("build");
      report.stages.push_back(
          {stage,
           here    ? evaluator::Outcome::failed
           : after ? evaluator::Outcome::skipped
                   : evaluator::Outcome::passed,
           0.25,
           here    ? "decode differs from full in 3 of 40 cases"
           : after ? "consistency failed"
                   : "fine",
           here ? evaluator::Json{{"token", 17}, {"full", "0x3f80"}, {"decode", "0x3f81"}} : evaluator::Json::object()});
    }
    if (!failed)
      for (auto const& [id, latency] : std::map<std::string, double>{{"full-256", full_us}, {"decode-1024", decode_us}}) {
        evaluator::WorkloadMeasurement workload;
        workload.id = id;
        workload.entry_point = id == "full-256" ? spec::EntryPoint::full : spec::EntryPoint::decode;
        workload.latency_us = workload.median_us = latency;
        workload.spread_us = latency / 100;
        workload.samples_us = {latency, latency, latency};
        workload.cache = "cold";
        report.workloads.push_back(workload);
      }
    report.evidence.push_back({"instructions", !failed, failed ? "" : "objdump 2.40", failed ? "not verified" : "",
                               failed ? evaluator::Json::object() : evaluator::Json{{"packed_fma", 8 * number}}});
    return report;
  }

  ir::AuditId audit(int number, double full_us, double decode_us, bool within_limits = true) {
    bool const measured = full_us > 0;
    std::optional<double> const total = measured ? std::optional(full_us + decode_us) : std::nullopt;
    return value(store_->append(ir::Audit{{}, {number}, report(number, full_us, decode_us), ""}, measured,
                                measured && within_limits, total))
        .id;
  }

  static ir::Opportunity opportunity(std::string mechanism, Ids implementations, ir::AuditId evidence,
                                     ir::Opportunity::Kind kind = ir::Opportunity::Kind::change) {
    ir::Opportunity record;
    record.kind = kind;
    record.mechanism = std::move(mechanism);
    record.workloads = {"full-256"};
    record.evidence = {evidence};
    record.evidence_note = "the full path waits for memory";
    record.implementations = std::move(implementations);
    return record;
  }

  void act(int number, Versions versions, std::int64_t taken, Ids parents) {
    ir::Implementation record = implementation(number, versions, parents);
    ir::Implementation const& parent = records_.at(static_cast<std::size_t>(parents.front().number));
    ir::Difference const difference = value(sources_->diff(parent.commit, record.commit));
    ir::Action action;
    action.opportunity = {taken};
    action.parents = parents;
    action.form = search::action_form(difference, parent.manifest, record.manifest);
    action.diff = difference.text;
    action.regions = search::changed_regions(difference);
    action.workloads = {"full-256"};
    action.scope = "the path that the opportunity names";
    action.expected_effect = "fewer loads";
    action.contradiction = "full-256 does not get faster";
    action.agent = "sample";
    value(store_->append(std::move(action), std::move(record)));
  }

  static ir::LineageDecision decision(ir::ImplementationId id, ir::AuditId audit, ir::BranchStatus status) {
    ir::LineageDecision decision;
    decision.implementation = id;
    decision.audit = audit;
    decision.interpretation = "as the audit says";
    decision.status = status;
    decision.reason = "it leads on";
    decision.agent = "sample";
    return decision;
  }
  void decide(ir::ImplementationId id, ir::AuditId audit, ir::BranchStatus status,
              std::vector<ir::Opportunity> follow_ups = {}) {
    value(store_->append(decision(id, audit, status), std::move(follow_ups)));
  }

  void write_records() {
    using Status = ir::BranchStatus;
    value(store_->append_root(implementation(0, {0, 0}, {})));
    auto const root = audit(0, 2000, 4000);
    decide({0}, root, Status::continued,
           {opportunity("Load K directly, without the staging buffer", {{0}}, root),
            opportunity("Skip rescaling where the factor is one", {{0}}, root),
            opportunity("Hint the cache about K and V", {{0}}, root)});
    act(1, {1, 0}, 1, {{0}});
    auto const first = audit(1, 2010, 4000);
    decide({1}, first, Status::continued, {opportunity("Load transposed V through the new layout", {{1}}, first)});
    act(2, {2, 2}, 4, {{1}});
    decide({2}, audit(2, 1000, 2000), Status::continued);
    act(3, {3, 0}, 2, {{0}});
    decide({0}, audit(3, 0, 0), Status::continued);
    act(4, {0, 4}, 3, {{0}});
    auto const hints = audit(4, 1990, 4500, false);
    decide({4}, hints, Status::continued,
           {opportunity("Combine the hints with the new layout", {{2}, {4}}, hints, ir::Opportunity::Kind::merge)});
    act(5, {5, 4}, 5, {{2}, {4}});
    auto const merged = audit(5, 500, 1000);
    value(store_->append({{decision({5}, merged, Status::continued), {}}, {decision({4}, merged, Status::archived), {}}}, {}));
    value(store_->append(opportunity("Prefetch the next tile of K", {{5}}, merged)));
    auto const withdrawn = value(store_->append(opportunity("Unroll by two", {{5}}, merged)));
    value(store_->append(ir::Withdrawal{withdrawn.id, "the loop is short", ""}));
  }

  std::filesystem::path folder_, source_;
  std::string seal_;
  std::optional<ir::SourceRepository> sources_;
  std::optional<ir::Store> store_;
  std::vector<ir::Implementation> records_; // by number
};

} // namespace tik::cli::test
