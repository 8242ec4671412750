// A small search whose records, commits, hashes and seal all agree: where damage is tried from.
#pragma once

#include "src/ir/sources.h"
#include "tests/ir/sample_records.h"
#include "tests/sample_texts.h"

namespace tik::ir {

inline std::string const sample_specification_text =
    test::SampleSpecification{.name = "sample", .query_heads = 8, .kv_heads = 2, .full_tokens = 256, .decode_tokens = 1024}
        .text();

inline std::string const sample_manifest_text =
    test::SampleManifest{
        .description = "sample", .files = "full = [\"full.cpp\"]\n", .command = R"("g++", "-o", "{output}", "full.cpp")"}
        .text();

class SampleSearch {
 public:
  explicit SampleSearch(std::filesystem::path folder) : folder_(std::move(folder)) {
    auto sources = value(SourceRepository::create(repository()));
    specification_ = value(spec::parse_specification(sample_specification_text, "spec.toml"));
    auto const root_report = report_for("root", spec::seal(specification_));
    auto identity = sample_identity();
    identity.specification_text = sample_specification_text;
    identity.baseline_us = {{"decode-1024", 20.0}, {"full-256", 10.0}};
    identity.seal = spec::seal(specification_, identity.baseline_us);
    identity.checks_version = spec::checks_version;
    seal_ = identity.seal;
    auto store = value(Store::create(database(), identity));
    auto const root = value(store.append_root(implementation_of(sources, "I0", "root", {})));
    value(store.append(Audit{{}, root.id, root_report, ""}, true, true, root_report.total_us(specification_)));
    value(store.append(sample_decision(root.id, {1}), {sample_opportunity(root.id, {1})}));
    auto const child = implementation_of(sources, "I1", "child", {root.commit});
    value(store.append(sample_action({1}, {root.id}), child));
    auto const report = report_for("child", seal_);
    value(store.append(Audit{{}, {1}, report, ""}, true, true, report.total_us(specification_)));
    value(store.append(sample_decision({1}, {2}), {sample_opportunity({1}, {2})}));
    value(store.append(Withdrawal{{2}, "why", ""}));
    ModelUsage usage;
    usage.action = ActionId{1};
    value(store.append(usage));
  }

  std::filesystem::path database() const { return folder_ / "search.db"; }
  std::filesystem::path repository() const { return folder_ / "sources.git"; }
  std::filesystem::path tree(std::string const& content) const { return folder_ / ("tree-" + content); }

 private:
  Implementation implementation_of(SourceRepository& sources, std::string const& name, std::string const& content,
                                   std::vector<std::string> const& parents) {
    std::filesystem::create_directories(tree(content));
    value(write_file(tree(content) / "full.cpp", content + "\n"));
    value(write_file(tree(content) / "implementation.toml", sample_manifest_text));
    Implementation implementation;
    implementation.commit = value(sources.commit(tree(content), parents, name));
    value(sources.keep(name, implementation.commit));
    implementation.source_sha256 = hash_source_files(value(read_source_folder(tree(content))));
    implementation.target = "cpu";
    implementation.manifest = value(spec::load_manifest(tree(content)));
    return implementation;
  }

  evaluator::Report report_for(std::string const& content, std::string const& seal) const {
    auto report = sample_report();
    report.specification_sha256 = seal;
    report.source_sha256 =
        hash_source_files({{"full.cpp", content + "\n", false}, {"implementation.toml", sample_manifest_text, false}});
    report.workloads[0].latency_us = 10;
    report.workloads.push_back(report.workloads[0]);
    report.workloads[1].id = "decode-1024";
    report.workloads[1].entry_point = spec::EntryPoint::decode;
    report.workloads[1].latency_us = 20;
    return report;
  }

  std::filesystem::path folder_;
  spec::Specification specification_;
  std::string seal_;
};

} // namespace tik::ir
