// An agent that is a language model: it reads and acts by the tools of every other agent, in one short conversation a stage.
// The records are its memory, not the conversation.
#pragma once

#include "src/agent/model_client.h"
#include "src/agent/toolbox.h"

namespace tik::agent {

// Prices for one million tokens, in the currency that the user thinks in. Zero: not counted.
struct Prices {
  double input = 0, cached_input = 0, output = 0;
};

// Limits of one run; zero: none. They are looked at before every call, so the last call may pass them.
struct ModelLimits {
  std::int64_t tokens = 0;
  double cost = 0;
  Prices prices;
};

struct ModelAgentOptions {
  Withheld withheld;
  ModelLimits limits;
  std::int64_t context_tokens = 100000; // a conversation that grows beyond begins again from the records
  std::int64_t answer_tokens = 8192;    // longest answer of the model
  bool name_choices = false;            // the schemas of the tools name the ids that there are
  int most_calls = 60;                  // answers of the model for one stage
  int most_attempts = 3;                // conversations that may end without an action
};

class ModelAgent : public Agent {
 public:
  // `record_usage` keeps a call's tokens for good.
  ModelAgent(Endpoint endpoint, ClientOptions client, std::unique_ptr<Transport> transport, ModelAgentOptions options,
             std::function<Result<ir::ModelUsage>(ir::ModelUsage)> record_usage, std::atomic<bool> const& cancel);
  ~ModelAgent() override;

  std::string name() const override;
  Result<std::optional<ActionDraft>> act(View const& view, Workspace& workspace) override;
  Result<ManagementDraft> manage(View const& view, ir::AuditId audit) override;

  // Why it asks no more: a limit of this run, or a model that gives no action. Empty while it goes on.
  std::string const& stopped() const { return stopped_; }
  std::int64_t tokens() const { return tokens_; }
  double cost() const { return cost_; }

 private:
  struct Stage;
  class Repetitions;
  Result<bool> converse(Stage& stage);
  Result<std::vector<Tool>> offered(Stage& stage, Repetitions const& repetitions, std::int64_t used) const;
  Result<void> within_limits();
  Result<void> keep(Attempt const& attempt);

  std::string model_;
  ModelAgentOptions options_;
  std::function<Result<ir::ModelUsage>(ir::ModelUsage)> record_usage_;
  std::atomic<bool> const& cancel_;
  ModelClient client_;
  std::string stopped_;
  std::int64_t tokens_ = 0;
  double cost_ = 0;
};

// Records the tokens of calls that a crash cut off, as estimates, each once.
Result<void> record_lost_calls(ir::Store const& store, ExchangeLog const& log,
                               std::function<Result<ir::ModelUsage>(ir::ModelUsage)> const& record_usage);

} // namespace tik::agent
