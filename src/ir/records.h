// The five linked record types of the optimization IR (paper, section 4.2). Plain values: created once, never changed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/evaluator/report.h"
#include "src/spec/manifest.h"

namespace tik::ir {

using Json = nlohmann::ordered_json;

// A record's number within its type; people read it with the type's letter: I7, O12.
template <char Letter>
struct Id {
  std::int64_t number = 0; // from 1, in order of creation; I0 is the root implementation
  static constexpr char letter = Letter;
  auto operator<=>(Id const&) const = default; // NOLINT(modernize-use-nullptr)
};
using OpportunityId = Id<'O'>;
using ImplementationId = Id<'I'>;
using ActionId = Id<'A'>;
using AuditId = Id<'U'>;
using LineageId = Id<'L'>;
template <char L>
std::string to_string(Id<L> id) {
  return std::string(1, L).append(std::to_string(id.number));
}
// "O12" -> OpportunityId{12}; an error sentence names the text and what an id of this type looks like.
template <char L>
Result<Id<L>> parse_id(std::string_view text);

// A proposed search direction: a mechanism, not an edit.
struct Opportunity {
  OpportunityId id;
  enum class Kind {
    change,
    merge,
    reactivate
  } kind = Kind::change;              // merge: two branches; reactivate: an archived implementation
  std::string mechanism;              // what to change in how the hardware is used, and why it should pay
  std::vector<std::string> workloads; // affected workload ids; may be empty when entry points are given
  std::vector<spec::EntryPoint> entry_points;
  std::vector<AuditId> evidence;                 // at least one audit
  std::string evidence_note;                     // what in those audits supports it
  std::vector<ImplementationId> implementations; // verified ones it may apply to; at least one
  std::optional<LineageId> origin;               // the decision that identified it; absent for those of a person
  Json hint = Json::object();                    // the proposing agent's own notes
  std::string created_at;
};

std::string_view to_string(Opportunity::Kind kind); // "change", "merge", "reactivate"

// A pending opportunity taken back, with the reason: it stays in the history.
struct Withdrawal {
  OpportunityId opportunity;
  std::string reason;
  std::string created_at;
};

struct Implementation {
  ImplementationId id;
  std::string commit;                    // git commit id; its parents are the commits of `parents`
  std::string source_sha256;             // evaluator::hash_source_tree of the tree
  std::vector<ImplementationId> parents; // empty for the root, two for a merge
  std::string target;                    // "cpu", "sm_90a"
  spec::Manifest manifest; // entry points, shared regions, dispatch rules, numerical requirements as the tree states them
  std::string created_at;
};

enum class ActionForm { full_only, decode_only, joint };
std::string_view to_string(ActionForm form); // "full-only", "decode-only", "joint"

struct NumericalRisk {
  spec::NumericalClass risk;
  std::string note;
};

// One exact source modification that made `result` from `parents`.
struct Action {
  ActionId id;
  OpportunityId opportunity;
  std::vector<ImplementationId> parents;
  ImplementationId result;
  ActionForm form = ActionForm::joint;          // computed from the files changed and the manifest's roles, never believed
  std::string diff;                             // unified diff against the first parent: the exact modification
  std::vector<std::string> workloads, variants; // targeted
  std::string scope;                            // in words
  std::vector<std::string> regions;             // "file:first-last" of the changed lines, computed from the diff
  std::string expected_effect;                  // on the hardware
  std::vector<NumericalRisk> risks;
  std::string contradiction; // the measurement that would contradict the rationale
  std::string agent;         // who acted
  std::string created_at;
};

// What the evaluator found. Only the evaluator's report makes one.
struct Audit {
  AuditId id;
  ImplementationId implementation;
  evaluator::Report report;
  std::string created_at;
};

enum class BranchStatus { continued, merge, archived, reactivated, abandoned };
std::string_view to_string(BranchStatus status); // "continue", "merge", "archive", "reactivate", "abandon"
Result<BranchStatus> branch_status_from(std::string_view text);

// The agent's reading of an audit and its decision about one implementation's branch.
struct LineageDecision {
  LineageId id;
  ImplementationId implementation; // whose branch is decided: for a failed offspring, continue names the verified parent
  AuditId audit;                   // the audit that was read
  std::string interpretation;      // what the audit says, in words
  BranchStatus status = BranchStatus::continued;
  std::string reason;            // why this status
  std::vector<AuditId> evidence; // further audits it rests on; abandon needs repeated failures or contradicting evidence here
  std::vector<OpportunityId> follow_ups; // opportunities recorded together with this decision, by id
  std::string agent;
  std::string created_at;
};

// Tokens of one model call; recorded for every attempt, failed and abandoned ones too.
struct ModelUsage {
  std::int64_t number = 0;
  std::optional<ActionId> action;
  std::string purpose; // "act", "manage"
  std::string model;
  std::int64_t input_tokens = 0, output_tokens = 0;
  bool estimated = false;
  Json raw = Json::object(); // as the service sent it
  std::string created_at;
};

// JSON bodies carry "schema": 1; from_json refuses what it does not know with a sentence that names record and field.
Json to_json(Opportunity const&);
Json to_json(Withdrawal const&);
Json to_json(Implementation const&);
Json to_json(Action const&);
Json to_json(Audit const&);
Json to_json(LineageDecision const&);
Json to_json(ModelUsage const&);
Result<Opportunity> opportunity_from_json(Json const&);
Result<Withdrawal> withdrawal_from_json(Json const&);
Result<Implementation> implementation_from_json(Json const&);
Result<Action> action_from_json(Json const&);
Result<Audit> audit_from_json(Json const&);
Result<LineageDecision> lineage_decision_from_json(Json const&);
Result<ModelUsage> model_usage_from_json(Json const&);

} // namespace tik::ir
