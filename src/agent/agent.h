// An agent proposes; the workflow disposes. Two calls, act and manage, are all that the workflow knows of any agent.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/records.h"
#include "src/ir/sources.h"
#include "src/ir/store.h"
#include "src/search/state.h"
#include "src/spec/specification.h"

namespace tik::agent {

// What an agent may see: the state, the records, the sources, the specification.
struct View {
  spec::Specification const& specification;
  search::State const& state;
  ir::Store const& store;
  ir::SourceRepository const& sources;
};

// The words of an action; diff, form, regions and ids are computed by the workflow from the edited folder.
struct ActionDraft {
  ir::OpportunityId opportunity;
  std::vector<ir::ImplementationId> parents;
  std::vector<std::string> workloads, variants;
  std::string scope, expected_effect, contradiction;
  std::vector<ir::NumericalRisk> risks;
};

// Where an agent edits. check_out may be called again to start over or with other parents; the last call counts.
class Workspace {
 public:
  virtual ~Workspace() = default;
  // One parent: its tree. Two: their three-way merge; conflicts are named and the folder then holds the first parent's tree.
  // A parent that may not be one (unverified, abandoned, archived and not reactivated) is refused with the rule's sentence.
  struct CheckedOut {
    std::filesystem::path folder;
    std::vector<std::string> conflicts;
  };
  virtual Result<CheckedOut> check_out(std::vector<ir::ImplementationId> const& parents) = 0;
  // Builds what was checked out and edited as its audit would, and judges nothing: the stage "build" of a report.
  virtual Result<evaluator::Stage> build() = 0;
  // The sentence with which the workflow would refuse the draft, if it would; nothing is recorded.
  virtual Result<void> check(ActionDraft const& draft) = 0;
};

struct DecisionDraft {
  ir::ImplementationId implementation;
  std::string interpretation;
  ir::BranchStatus status = ir::BranchStatus::continued;
  std::string reason;
  std::vector<ir::AuditId> evidence;
  std::vector<ir::Opportunity> follow_ups; // ids and origin are assigned by the store
};

struct ManagementDraft {
  std::vector<DecisionDraft> decisions; // the first is about the audited offspring's branch; further ones about other branches
  std::vector<ir::Withdrawal> withdrawals;
};

class Agent {
 public:
  virtual ~Agent() = default;
  virtual std::string name() const = 0;
  // Chooses a pending opportunity and parents, edits a checked-out copy. Empty: no opportunity worth acting on (the search
  // ends).
  virtual Result<std::optional<ActionDraft>> act(View const& view, Workspace& workspace) = 0;
  // Reads an audit (the root's first) and decides about branches, with follow-up opportunities.
  virtual Result<ManagementDraft> manage(View const& view, ir::AuditId audit) = 0;
};

} // namespace tik::agent
