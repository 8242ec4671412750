// The agent that `tik run` was asked for.
#pragma once

#include "src/agent/model_agent.h"
#include "src/cli/options.h"
#include "src/search/search.h"

namespace tik::cli {

class ChosenAgent {
 public:
  ChosenAgent(std::unique_ptr<agent::Agent> agent, std::unique_ptr<agent::ExchangeLog> log, agent::ModelAgent const* model)
      : log_(std::move(log)), agent_(std::move(agent)), model_(model) {}
  agent::Agent& agent() const { return *agent_; }
  // Why a model is asked no more; empty while it is, and for agents that never stop by themselves.
  std::string const& stopped() const;

 private:
  std::unique_ptr<agent::ExchangeLog> log_; // outlives the agent, which writes to it
  std::unique_ptr<agent::Agent> agent_;
  agent::ModelAgent const* model_;
};

// What is wrong with the options, before anything is opened.
Result<void> check_agent(Run const& options);
// `search` and `cancel` outlive the agent. Tokens of calls that a crash cut off are recorded first.
Result<ChosenAgent> choose_agent(Run const& options, search::Search& search, std::atomic<bool> const& cancel);

} // namespace tik::cli
