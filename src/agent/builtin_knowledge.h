// What the built-in agent has learned: every audited implementation, read from the records.
#pragma once

#include <memory>

#include "src/agent/agent.h"
#include "src/agent/builtin_evidence.h"
#include "src/agent/moves.h"

namespace tik::agent {

// One audited implementation.
struct Trial {
  ir::ImplementationId id;
  ir::AuditId audit;
  std::string commit;
  std::vector<ir::ImplementationId> parents;
  std::vector<Move> moves; // that made it from its first parent
  Configuration configuration;
  std::vector<Move> available; // moves that its text and configuration admit
  bool verified = false, measured = false, within_limits = false;
  std::string failed_stage, failure; // empty when verified
  std::map<std::string, double> latency_us;
  double total_us = 0;
  double noise = 0; // of total_us, relative
  Symptoms symptoms;
};

class Knowledge {
 public:
  // Reads what was recorded since the last call. What was read before is kept: records never change.
  Result<void> learn(View const& view);

  spec::Manifest const& manifest() const { return manifest_; }
  Configuration const& root() const { return root_; }
  std::map<ir::ImplementationId, Trial> const& trials() const { return trials_; }
  Trial const& trial(ir::ImplementationId id) const { return trials_.at(id); }
  // The opportunities of a view by id; only those that were pending at some call are known.
  ir::Opportunity const& opportunity(ir::OpportunityId id) const { return opportunities_.at(id); }

  // Failed trials of this very move, in order.
  std::vector<Trial const*> failures_of(Move const& move) const;
  // Failed trials of moves that change the numbers of one entry point alone, under this class of numerical risk.
  std::vector<Trial const*> one_sided_failures(std::string const& risk) const;
  bool tried(std::string const& name) const;
  // Whether an audit already says what these moves make of the base.
  bool result_known(Trial const& base, std::vector<Move> const& moves) const;
  // Whether `trial` was derived from `ancestor`, over any number of actions.
  bool is_ancestor(ir::ImplementationId ancestor, Trial const& trial) const;

 private:
  Result<void> read_trial(View const& view, ir::ImplementationId id);

  spec::Manifest manifest_;
  Configuration root_;
  std::map<ir::ImplementationId, Trial> trials_;
  std::map<ir::OpportunityId, ir::Opportunity> opportunities_;
};

} // namespace tik::agent
