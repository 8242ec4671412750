#include "bench/engine/synthetic_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/engine/synthetic_report.h"
#include "src/base/files.h"
#include "src/ir/sources.h"
#include "src/ir/store.h"
#include "src/search/layout.h"
#include "src/search/rules.h"

namespace tik::bench {
namespace {

using ir::AuditId;
using ir::ImplementationId;
using ir::OpportunityId;

struct Parts {
  spec::Specification specification;
  std::string seal;
  std::map<std::string, double> baseline_us;
};

class Writer {
 public:
  Writer(Parts const& parts, ir::Store& store, ir::SourceRepository& sources, std::mt19937_64& random)
      : parts_(parts), store_(store), sources_(sources), random_(random) {}

  Result<void> root(ir::Implementation implementation, evaluator::Report report) {
    commits_[{0}] = implementation.commit;
    speeds_[{0}] = 1;
    root_ = implementation;
    TIK_CHECK(store_.append_root(std::move(implementation)));
    TIK_TRY(auto const audit, audited({0}, std::move(report)));
    return decide({0}, audit, ir::BranchStatus::continued, 8);
  }

  // One step of a search: action, audit, decision. What a search would refuse is an error here, too.
  Result<void> step(int number) {
    TIK_TRY(auto const opportunity, next_opportunity());
    auto const parents = state_.opportunities.at(opportunity).implementations;
    TIK_CHECK(search::may_be_parents(state_, parents));
    TIK_CHECK(search::may_take(state_, opportunity, parents));
    TIK_CHECK(act(number, opportunity, parents));
    ImplementationId const offspring{number};
    bool const verified = chance(0.85);
    double const speed =
        std::max(0.02, speeds_.at(parents.front()) * std::uniform_real_distribution<double>(0.97, 1.06)(random_));
    speeds_[offspring] = speed;
    auto report = synthetic_report(parts_.specification, {verified, speed}, random_);
    TIK_TRY(auto const audit, audited(offspring, std::move(report)));
    counts_.failures += verified ? 0 : 1;
    return react(offspring, parents.front(), audit, verified);
  }

  SyntheticCounts counts() const {
    auto counts = counts_;
    counts.records = state_.sequence;
    counts.promotions = static_cast<std::int64_t>(state_.promotions.size()) - 1;
    return counts;
  }

 private:
  bool chance(double probability) { return std::uniform_real_distribution<double>(0, 1)(random_) < probability; }

  // The newest pending ones most of the time, so that lines grow long; some of the oldest, so that they grow wide.
  Result<OpportunityId> next_opportunity() {
    auto const retained = [&](OpportunityId id) {
      auto const& implementations = state_.opportunities.at(id).implementations;
      return std::all_of(implementations.begin(), implementations.end(), [&](auto i) { return state_.frontier.contains(i); });
    };
    std::vector<OpportunityId> order(state_.pending.begin(), state_.pending.end());
    if (chance(0.7)) std::reverse(order.begin(), order.end());
    auto const found = std::find_if(order.begin(), order.end(), retained);
    if (found != order.end()) return *found;
    return input_error("The synthetic history ran out of opportunities.");
  }

  // Changes one line of one file, as small edits do.
  Result<void> act(int number, OpportunityId opportunity, std::vector<ImplementationId> const& parents) {
    std::vector<std::string> parent_commits;
    for (auto const parent : parents) parent_commits.push_back(commits_.at(parent));
    TIK_TRY(auto files, sources_.files(parent_commits.front()));
    std::vector<std::size_t> editable;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].name.ends_with(".cpp") || files[i].name.ends_with(".h")) editable.push_back(i);
    }
    if (editable.empty()) return input_error("The root has no .cpp or .h file to edit.");
    auto& edited = files[editable[random_() % editable.size()]].content;
    auto const mark = edited.rfind("// variant ");
    if (mark != std::string::npos) edited.resize(mark);
    edited += fmt::format("// variant {}\n", number);
    TIK_TRY(auto const commit, sources_.commit(files, parent_commits, fmt::format("I{}: one line", number)));
    TIK_CHECK(sources_.keep(fmt::format("I{}", number), commit));
    TIK_TRY(auto difference, sources_.diff(parent_commits.front(), commit));
    auto implementation = root_;
    implementation.commit = commit;
    implementation.source_sha256 = hash_source_files(files);
    source_sha256_ = implementation.source_sha256;
    commits_[{number}] = commit;
    ir::Action action;
    action.opportunity = opportunity;
    action.parents = parents;
    action.form = search::action_form(difference, implementation.manifest, implementation.manifest);
    action.regions = search::changed_regions(difference);
    action.diff = std::move(difference.text);
    action.workloads = {parts_.specification.workloads.front().id};
    action.scope = "one line of one file";
    action.expected_effect = "fewer instructions in the innermost loop";
    action.risks = {{spec::NumericalClass::reduction_order, "both entry points read the same line"}};
    action.contradiction = "the first workload does not get faster";
    action.agent = "synthetic";
    counts_.merges += parents.size() == 2 ? 1 : 0;
    TIK_CHECK(store_.append(std::move(action), std::move(implementation)));
    return search::refresh(state_, store_);
  }

  Result<AuditId> audited(ImplementationId implementation, evaluator::Report report) {
    bool const root = implementation == ImplementationId{0};
    report.specification_sha256 = root ? spec::seal(parts_.specification) : parts_.seal;
    if (!root) report.source_sha256 = source_sha256_;
    bool const measured = report.measured(parts_.specification);
    bool const limits = measured && search::within_limits(parts_.specification, parts_.baseline_us, report);
    auto const total_us = report.total_us(parts_.specification);
    TIK_TRY(auto const audit, store_.append({{}, implementation, std::move(report), ""}, measured, limits, total_us));
    TIK_CHECK(search::refresh(state_, store_));
    return audit.id;
  }

  Result<void> react(ImplementationId offspring, ImplementationId parent, AuditId audit, bool verified) {
    if (!verified) return decide(parent, audit, ir::BranchStatus::continued, 1);
    bool const promoted = state_.incumbent == offspring;
    if (promoted || state_.frontier.size() < 4 || chance(0.2)) return decide(offspring, audit, ir::BranchStatus::continued, 2);
    return decide(offspring, audit, ir::BranchStatus::archived, 1);
  }

  Result<void> decide(ImplementationId implementation, AuditId audit, ir::BranchStatus status, int follow_ups) {
    // What follows an archived offspring starts from the incumbent.
    auto target = status == ir::BranchStatus::archived ? *state_.incumbent : implementation;
    if (status == ir::BranchStatus::archived && !state_.frontier.contains(target)) target = *state_.frontier.begin();
    std::vector<ir::Opportunity> opportunities;
    for (int i = 0; i < follow_ups; ++i) opportunities.push_back(opportunity(target, audit));
    if (state_.frontier.size() > 2 && chance(0.04)) opportunities.push_back(merge_opportunity(audit));
    ir::LineageDecision decision;
    decision.implementation = implementation;
    decision.audit = audit;
    decision.interpretation = "the innermost loop is bound by loads, and the change does not alter their number";
    decision.status = status;
    decision.reason = status == ir::BranchStatus::archived ? "not faster than the incumbent" : "its follow-ups are worth a try";
    decision.evidence = {audit};
    decision.agent = "synthetic";
    TIK_CHECK(store_.append(std::move(decision), std::move(opportunities)));
    if (chance(0.1)) {
      ir::ModelUsage usage;
      usage.purpose = "manage";
      usage.model = "synthetic";
      usage.input_tokens = 4000;
      usage.output_tokens = 300;
      TIK_CHECK(store_.append(std::move(usage)));
    }
    TIK_CHECK(search::refresh(state_, store_));
    return withdraw_surplus();
  }

  // A search that is tended does not let its pending opportunities grow without end.
  Result<void> withdraw_surplus() {
    if (state_.pending.size() <= 64) return {};
    TIK_CHECK(store_.append(ir::Withdrawal{*state_.pending.begin(), "older than what the incumbent made of it", ""}));
    return search::refresh(state_, store_);
  }

  ir::Opportunity opportunity(ImplementationId target, AuditId audit) {
    ir::Opportunity opportunity;
    opportunity.mechanism = "keep more partial sums in flight, so that the loop waits less for each of them";
    opportunity.workloads = {parts_.specification.workloads[random_() % parts_.specification.workloads.size()].id};
    opportunity.entry_points = {spec::EntryPoint::full, spec::EntryPoint::decode};
    opportunity.evidence = {audit};
    opportunity.evidence_note = "the compiler did not vectorize the innermost loop";
    opportunity.implementations = {target};
    opportunity.hint = {{"value", static_cast<int>(random_() % 64)}};
    return opportunity;
  }

  ir::Opportunity merge_opportunity(AuditId audit) {
    auto result = opportunity(*state_.frontier.begin(), audit);
    result.kind = ir::Opportunity::Kind::merge;
    result.mechanism = "combine two changes of different loops";
    result.implementations = {*std::prev(state_.frontier.end()), *std::prev(state_.frontier.end(), 2)};
    return result;
  }

  Parts const& parts_;
  ir::Store& store_;
  ir::SourceRepository& sources_;
  std::mt19937_64& random_;
  search::State state_;
  ir::Implementation root_; // every implementation has its manifest and target
  std::map<ImplementationId, std::string> commits_;
  std::map<ImplementationId, double> speeds_;
  std::string source_sha256_; // of the implementation made last
  SyntheticCounts counts_;
};

} // namespace

Result<SyntheticCounts> write_synthetic_history(std::filesystem::path const& folder, SyntheticHistory const& history) {
  std::error_code error;
  if (std::filesystem::exists(folder, error))
    return input_error(fmt::format("{}: is there already: name a new folder.", folder.string()));
  std::filesystem::create_directories(folder, error);
  if (error) return machine_error(fmt::format("{}: cannot be created: {}.", folder.string(), error.message()));
  search::Layout const layout{folder};
  std::mt19937_64 random(history.seed);
  Parts parts;
  TIK_TRY(parts.specification, spec::load_specification(history.specification));
  auto const root_folder = history.specification.parent_path() / parts.specification.root;
  ir::Implementation root;
  TIK_TRY(root.manifest, spec::load_manifest(root_folder));
  root.target = root.manifest.target;
  TIK_TRY(auto const files, read_source_folder(root_folder));
  root.source_sha256 = hash_source_files(files);
  auto report = synthetic_report(parts.specification, {}, random);
  report.source_sha256 = root.source_sha256;
  for (auto const& workload : report.workloads) parts.baseline_us[workload.id] = workload.latency_us;
  parts.seal = spec::seal(parts.specification, parts.baseline_us);
  ir::SearchIdentity const identity{.specification_text = parts.specification.text,
                                    .specification_file = history.specification.filename().string(),
                                    .seal = parts.seal,
                                    .baseline_us = parts.baseline_us,
                                    .checks_version = std::string(spec::checks_version),
                                    .created_at = utc_now()};
  TIK_CHECK(write_file(layout.specification(), parts.specification.text));
  TIK_TRY(auto store, ir::Store::create(layout.database(), identity));
  TIK_TRY(auto sources, ir::SourceRepository::create(layout.sources()));
  Writer writer(parts, store, sources, random);
  auto const write = [&]() -> Result<void> {
    TIK_TRY(root.commit, sources.commit(files, {}, "I0: the root"));
    TIK_CHECK(sources.keep("I0", root.commit));
    TIK_CHECK(writer.root(std::move(root), std::move(report)));
    for (int number = 1; number < history.implementations; ++number) TIK_CHECK(writer.step(number));
    return {};
  };
  TIK_CHECK(sources.together([&] { return store.together(write); }));
  return writer.counts();
}

} // namespace tik::bench
