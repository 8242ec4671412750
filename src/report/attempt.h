// One implementation of a search as every view shows it: where it came from, what its audit found, what became of its branch.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/agent/agent.h"

namespace tik::report {

// What the latest audit established, from worst to best.
enum class Verdict {
  unaudited,  // no audit is recorded yet
  failed,     // not verified: a stage failed
  unmeasured, // verified, but a workload has no latency
  over_limit, // verified and measured, but a workload is slower than its limit
  verified,   // admissible, yet not faster than the incumbent of its time
  promoted,   // was the incumbent at some time
};
std::string_view to_string(Verdict verdict); // "unaudited", "failed", "unmeasured", "over limit", "verified", "promoted"

struct Attempt {
  ir::ImplementationId id;
  std::vector<ir::ImplementationId> parents;
  // The action that made it and the opportunity it took; absent for the root.
  std::optional<ir::ActionId> action;
  std::optional<ir::OpportunityId> opportunity;
  std::optional<ir::ActionForm> form;
  std::string mechanism; // of the opportunity; "root" for the root
  std::string agent;
  std::optional<ir::AuditId> audit; // the latest
  Verdict verdict = Verdict::unaudited;
  std::string failed_stage, failure; // first failed stage of the audit and its sentence; empty when verified
  std::optional<double> total_us;    // T(I)
  std::optional<double> speedup;     // T(root) / T(I)
  std::optional<ir::BranchStatus> status;
  bool incumbent = false;
  bool on_best_path = false; // the incumbent or one of its ancestors
};

// The verdict of a folded implementation state; reads no record.
Verdict verdict_of(search::ImplementationState const& state);

// `id` and everything it was derived from.
std::set<ir::ImplementationId> ancestors(search::State const& state, ir::ImplementationId id);

// Verified implementations that were never promoted although a descendant was: what keeping them was good for (paper,
// section 5.5).
std::vector<ir::ImplementationId> stepping_stones(search::State const& state);

// Reads the records that belong to `ids`, in their order. The audit body is read only where a stage failed.
Result<std::vector<Attempt>> describe_attempts(agent::View const& view, std::vector<ir::ImplementationId> const& ids);

// All implementations, newest first; 0 or the `limit` newest.
std::vector<ir::ImplementationId> newest_first(search::State const& state, std::size_t limit);

// A few words for a person: "root", "promoted", "consistency failed", "over limit", "verified".
std::string outcome_words(Attempt const& attempt);

// As shown by `tik log --json` and the dashboard.
ir::Json to_json(Attempt const& attempt);

} // namespace tik::report
