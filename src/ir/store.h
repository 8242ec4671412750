// The append-only store of a search: records as rows of one SQLite database. The database itself forbids update and delete
// (triggers), refuses links to records that are not there (foreign keys) and values out of range (CHECK).
//
// Every append is one IMMEDIATE transaction in WAL mode with synchronous = FULL: once the call returns, the record survives a
// crash. A row is written after the git commit that it names, so a row never points at a missing commit.
//
// A Store belongs to one thread at a time. Several processes may read while one writes.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include "src/ir/records.h"

namespace tik::ir {

// What initialization fixed for the search's whole life.
struct SearchIdentity {
  std::string specification_text;
  std::string specification_file;            // name for messages
  std::string seal;                          // spec::seal with the baselines
  std::map<std::string, double> baseline_us; // the root's latency by workload id
  std::string checks_version;
  std::string created_at;
};

// The columns that the fold of the state needs, in order of `sequence`, without parsing any body.
struct OpportunityEvent {
  OpportunityId id;
  Opportunity::Kind kind;
  std::vector<ImplementationId> implementations;
};
struct WithdrawalEvent {
  OpportunityId id;
};
struct ActionEvent {
  ActionId id;
  OpportunityId opportunity;
  ImplementationId result;
  ActionForm form;
  std::vector<ImplementationId> parents;
};
struct ImplementationEvent {
  ImplementationId id;
};
struct AuditEvent {
  AuditId id;
  ImplementationId implementation;
  bool verified;
  bool measured;
  bool within_limits;
  std::optional<double> total_us;
  double seconds;
};
struct DecisionEvent {
  LineageId id;
  ImplementationId implementation;
  AuditId audit;
  BranchStatus status;
};
struct UsageEvent {
  std::int64_t tokens;
};
using Event =
    std::variant<OpportunityEvent, WithdrawalEvent, ImplementationEvent, ActionEvent, AuditEvent, DecisionEvent, UsageEvent>;

// A record as the journal keeps it: its body as JSON text, under a hash that covers the entry before.
struct JournalEntry {
  std::int64_t sequence = 0;
  std::string type; // "opportunity", "withdrawal", "implementation", "action", "audit", "lineage_decision", "model_usage"
  std::int64_t number = 0;
  std::string sha256, body;
};

class Store {
 public:
  // `file` must not exist; the identity is written in the same transaction as the schema.
  static Result<Store> create(std::filesystem::path const& file, SearchIdentity const& identity);
  enum class Mode { read_only, read_write }; // read_write looks at every page and every hash first, and refuses damage
  static Result<Store> open(std::filesystem::path const& file, Mode mode);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  Result<SearchIdentity> identity() const;

  // Appending. Ids and created_at are assigned here and returned; what the argument held in them is ignored.
  Result<Opportunity> append(Opportunity opportunity);
  Result<Withdrawal> append(Withdrawal withdrawal);
  // The root: an implementation that no action made. Only when the store holds none.
  Result<Implementation> append_root(Implementation implementation);
  // An action and the implementation it made, in one transaction.
  Result<std::pair<Action, Implementation>> append(Action action, Implementation implementation);
  // within_limits: every workload latency within its limit (false while not measured); decided by the caller from the
  // identity's baselines.
  Result<Audit> append(Audit audit, bool measured, bool within_limits, std::optional<double> total_us);
  // A decision together with the follow-up opportunities that it identifies, in one transaction; fills follow_ups and origin.
  Result<LineageDecision> append(LineageDecision decision, std::vector<Opportunity> follow_ups);
  // All that one reading of an audit decided, in one transaction: decisions with their follow-ups, then withdrawals.
  Result<std::vector<LineageDecision>> append(std::vector<std::pair<LineageDecision, std::vector<Opportunity>>> decisions,
                                              std::vector<Withdrawal> withdrawals);
  Result<ModelUsage> append(ModelUsage usage);

  // Makes all appends inside of `appends` one transaction: all are there when this returns, or, on its error, none. For
  // histories that are written at once; a search appends step by step.
  Result<void> together(std::function<Result<void>()> const& appends);
  // For an import: from here on an appended record keeps the created_at that it comes with.
  void keep_times() { keep_times_ = true; }

  // Reading. An unknown id is an input error that says which ids exist.
  Result<Opportunity> opportunity(OpportunityId id) const;
  Result<Implementation> implementation(ImplementationId id) const;
  Result<Action> action(ActionId id) const;
  Result<Audit> audit(AuditId id) const;
  Result<LineageDecision> lineage_decision(LineageId id) const;
  Result<std::optional<Withdrawal>> withdrawal(OpportunityId id) const;
  // The implementation whose source tree has this hash, if there is one.
  Result<std::optional<ImplementationId>> implementation_with_source(std::string const& source_sha256) const;
  Result<std::optional<Action>> action_of(ImplementationId result) const;
  Result<std::vector<Audit>> audits_of(ImplementationId id) const;
  Result<std::vector<LineageDecision>> decisions_of(ImplementationId id) const;
  Result<std::vector<LineageDecision>> decisions_on(AuditId id) const;
  Result<std::vector<Action>> actions_of(OpportunityId id) const;
  Result<std::vector<Action>> children_of(ImplementationId parent) const;

  // Calls `visit` for every record after sequence number `after`, in order of creation; returns the last sequence number seen.
  Result<std::int64_t> replay(
      std::int64_t after,
      std::function<void(std::int64_t sequence, std::string_view created_at, Event const&)> const& visit) const;

  // Calls `visit` for every entry of the journal in order; stops at its first error.
  Result<void> read_journal(std::function<Result<void>(JournalEntry const&)> const& visit) const;

  struct Counts {
    std::int64_t opportunities, implementations, actions, audits, decisions, usages;
  };
  Result<Counts> counts() const;

 private:
  struct Database;
  explicit Store(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
  bool keep_times_ = false;
};

} // namespace tik::ir
