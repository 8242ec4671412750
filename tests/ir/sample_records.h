// Records and folders that the tests of this room start from.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "src/base/files.h"
#include "src/base/sha256.h"
#include "src/ir/store.h"
#include "tests/temporary_folder.h"

namespace tik::ir {

// In memory, since every append is flushed.
struct TemporaryFolder : test::TemporaryFolder {
  TemporaryFolder() : test::TemporaryFolder(in_memory()) {}
};

// The value, or a test failure with the error's sentence.
template <class T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void value(Result<void> result) {
  if (!result) throw std::runtime_error(result.error().message);
}

inline SearchIdentity sample_identity() {
  return {.specification_text = "schema = 1\n",
          .specification_file = "spec.toml",
          .seal = std::string(64, 'a'),
          .baseline_us = {{"decode-1024", 310.25}, {"full-256", 0.1}},
          .checks_version = "1",
          .created_at = "2026-01-31T12:34:56.789Z"};
}

inline spec::Manifest sample_manifest() {
  spec::Manifest manifest;
  manifest.operator_name = "attention";
  manifest.target = "cpu";
  manifest.description = "simple";
  manifest.abi = 1;
  manifest.full_symbol = "tik_attention_full";
  manifest.extend_symbol = "tik_attention_extend";
  manifest.decode_symbol = "tik_attention_decode";
  manifest.workspace_symbol = "tik_attention_workspace_bytes";
  manifest.version_symbol = "tik_attention_abi_version";
  manifest.full_files = {"full.cpp"};
  manifest.decode_files = {"decode.cpp"};
  manifest.shared_files = {"numerics.h"};
  manifest.build_command = {"g++", "-o", "{output}", "full.cpp"};
  manifest.variants = {{"scalar", spec::EntryPoint::full, "full.cpp", "always"}};
  manifest.dispatch = {{spec::EntryPoint::full, "always", "scalar"}};
  manifest.numerics = {{spec::NumericalClass::transcendentals, "both call expf"}};
  manifest.tunables = {{"lanes",
                        "numerics.h",
                        "constexpr int kLanes = {};",
                        {"8", "16"},
                        {spec::EntryPoint::full, spec::EntryPoint::decode},
                        "more sums at once",
                        "reduction-order",
                        "not-vectorized"}};
  manifest.rewrites = {{"split", "two loops", "none", {spec::EntryPoint::decode}, {{"decode.cpp", "a", "b"}}, {"lanes"}, {}}};
  return manifest;
}

// Distinct for distinct numbers.
inline Implementation sample_implementation(int number) {
  Implementation implementation;
  implementation.source_sha256 = sha256_hex("source " + std::to_string(number));
  implementation.commit = implementation.source_sha256.substr(0, 40);
  implementation.target = "cpu";
  implementation.manifest = sample_manifest();
  return implementation;
}

inline evaluator::Report sample_report() {
  evaluator::Report report;
  report.specification_sha256 = std::string(64, 'a');
  report.source_sha256 = std::string(64, 'b');
  report.evaluator_version = "1";
  report.started_at = "2026-01-31T12:34:56.789Z";
  report.seconds = 1.5;
  for (auto const* stage : {"build", "consistency", "accuracy", "robustness", "measurement", "evidence"})
    report.stages.push_back({stage, evaluator::Outcome::passed, 0.25, "fine", evaluator::Json::object()});
  evaluator::WorkloadMeasurement workload;
  workload.id = "full-256";
  workload.entry_point = spec::EntryPoint::full;
  workload.latency_us = workload.median_us = 0.1;
  workload.samples_us = {0.1, 0.30000000000000004};
  workload.cache = "cold";
  report.workloads = {workload};
  return report;
}

inline Audit sample_audit(ImplementationId implementation) { return {{}, implementation, sample_report(), ""}; }

inline Opportunity sample_opportunity(ImplementationId implementation, AuditId audit) {
  Opportunity opportunity;
  opportunity.mechanism = "keep 16 partial sums";
  opportunity.workloads = {"full-256"};
  opportunity.entry_points = {spec::EntryPoint::full};
  opportunity.evidence = {audit};
  opportunity.evidence_note = "the loop is not vectorized";
  opportunity.implementations = {implementation};
  opportunity.hint = {{"tunable", "lanes"}, {"value", 16}};
  return opportunity;
}

inline Action sample_action(OpportunityId opportunity, std::vector<ImplementationId> parents) {
  Action action;
  action.opportunity = opportunity;
  action.parents = std::move(parents);
  action.form = ActionForm::joint;
  action.diff = "--- a/numerics.h\n+++ b/numerics.h\n@@ -1 +1 @@\n-constexpr int kLanes = 8;\n+constexpr int kLanes = 16;\n";
  action.workloads = {"full-256"};
  action.variants = {"scalar"};
  action.scope = "one constant";
  action.regions = {"numerics.h:1-1"};
  action.expected_effect = "more instructions in flight";
  action.risks = {{spec::NumericalClass::reduction_order, "both paths change alike"}};
  action.contradiction = "full-256 does not get faster";
  action.agent = "test";
  return action;
}

inline LineageDecision sample_decision(ImplementationId implementation, AuditId audit) {
  LineageDecision decision;
  decision.implementation = implementation;
  decision.audit = audit;
  decision.interpretation = "the sums fit the registers";
  decision.status = BranchStatus::continued;
  decision.reason = "faster";
  decision.evidence = {audit};
  decision.agent = "test";
  return decision;
}

// A store with a root, its audit and a decision with one follow-up: I0, U1, L1, O1.
inline Store sample_store(std::filesystem::path const& file) {
  auto store = value(Store::create(file, sample_identity()));
  auto const root = value(store.append_root(sample_implementation(0)));
  auto const audit = value(store.append(sample_audit(root.id), true, true, 100.0));
  value(store.append(sample_decision(root.id, audit.id), {sample_opportunity(root.id, audit.id)}));
  return store;
}

} // namespace tik::ir
