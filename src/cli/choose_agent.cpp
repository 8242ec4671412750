#include "src/cli/choose_agent.h"

#include <fmt/format.h>

#include <cstdlib>

#include "src/agent/builtin.h"

namespace tik::cli {
namespace {

Result<void> check_base_url(std::string const& url) {
  bool const http = url.starts_with("http://") || url.starts_with("https://");
  if (!http || url.find_first_of(" \t\r\n?#@") != std::string::npos)
    return input_error(
        "--base-url: it must be a plain http:// or https:// address without a user, a query or a fragment; a key is given with "
        "--key-env.");
  return {};
}

Result<agent::Endpoint> endpoint_of(ModelOptions const& options) {
  agent::Endpoint endpoint;
  TIK_TRY(endpoint.api, agent::api_from(options.api));
  if (options.base_url.empty()) return input_error("--base-url is missing: where is the model service?");
  TIK_CHECK(check_base_url(options.base_url));
  if (options.name.empty()) return input_error("--model is missing: which model is to be asked?");
  endpoint.base_url = options.base_url;
  while (endpoint.base_url.ends_with('/')) endpoint.base_url.pop_back();
  endpoint.model = options.name;
  endpoint.max_output_tokens = options.output_tokens;
  endpoint.require_calls = options.require_calls;
  if (options.old_limit_name) endpoint.output_limit_field = "max_tokens";
  if (options.key_variable.empty()) return endpoint;
  char const* const key = std::getenv(options.key_variable.c_str());
  if (key == nullptr || *key == '\0')
    return input_error(fmt::format("--key-env {}: this environment variable is not set.", options.key_variable));
  endpoint.key = key;
  for (char const letter : endpoint.key)
    if (letter <= ' ' || letter > '~')
      return input_error(fmt::format("--key-env {}: its value holds characters that no key has.", options.key_variable));
  return endpoint;
}

} // namespace

std::string const& ChosenAgent::stopped() const {
  static std::string const never;
  return model_ ? model_->stopped() : never;
}

Result<void> check_agent(Run const& options) {
  TIK_CHECK(agent::withheld_from(options.without));
  std::vector<std::string> const& given = options.model.given;
  if (options.agent == "builtin") {
    if (!given.empty())
      return input_error(fmt::format(
          "{}: it means nothing to the built-in agent: name the agent that it is for with --agent, or leave it out.",
          given[0]));
    if (options.without.empty()) return {};
    return input_error(
        "--without: the built-in agent reads records directly; parts are withheld from --agent model, --agent replay and tik "
        "mcp.");
  }
  if (options.agent == "model") {
    if (!options.model.exchanges.empty())
      return input_error("--exchanges: it is what --agent replay reads: give --agent replay, or leave it out.");
    TIK_CHECK(endpoint_of(options.model));
    return {};
  }
  if (options.agent == "replay") {
    if (options.model.exchanges.empty()) return input_error("--exchanges is missing: which recording is to be replayed?");
    TIK_CHECK(agent::api_from(options.model.api));
    TIK_CHECK(agent::read_exchanges(options.model.exchanges));
    return {};
  }
  return input_error(fmt::format("--agent {}: there is no such agent. Known: builtin, model, replay.", options.agent));
}

Result<ChosenAgent> choose_agent(Run const& options, search::Search& search, std::atomic<bool> const& cancel) {
  if (options.agent == "builtin") return ChosenAgent(agent::make_builtin_agent(options.seed), nullptr, nullptr);
  ModelOptions const& asked = options.model;
  auto const record = [&search](ir::ModelUsage usage) { return search.record_usage(std::move(usage)); };
  agent::ModelAgentOptions model;
  TIK_TRY(model.withheld, agent::withheld_from(options.without));
  double const cached_price = asked.cached_price < 0 ? asked.input_price : asked.cached_price;
  model.limits = {asked.tokens, asked.cost, {asked.input_price, cached_price, asked.output_price}};
  model.context_tokens = asked.context_tokens;
  model.answer_tokens = asked.output_tokens;
  model.name_choices = asked.require_calls;
  if (asked.cost > 0 && asked.input_price <= 0 && asked.output_price <= 0)
    return input_error("--max-cost needs --input-price and --output-price: the service does not say what a token costs.");
  agent::ClientOptions client;
  client.idle_seconds = asked.idle_seconds;
  client.retries = asked.retries;
  agent::Endpoint endpoint;
  auto log = std::make_unique<agent::ExchangeLog>();
  std::unique_ptr<agent::Transport> transport;
  if (options.agent == "replay") {
    TIK_TRY(endpoint.api, agent::api_from(asked.api));
    endpoint.base_url = asked.exchanges.string();
    endpoint.model = asked.name.empty() ? "replay" : asked.name;
    client.retries = 1000; // the recording holds the attempts that were made
    client.longest_wait_seconds = 1e9;
    client.waits = false;
    TIK_TRY(transport, agent::make_replay_transport(asked.exchanges));
  } else {
    TIK_TRY(endpoint, endpoint_of(asked));
    TIK_TRY(*log, agent::ExchangeLog::open(options.search / "exchanges.jsonl"));
    TIK_CHECK(agent::record_lost_calls(search.store(), *log, record));
    transport = agent::make_live_transport(*log, endpoint.key);
  }
  auto made = std::make_unique<agent::ModelAgent>(std::move(endpoint), client, std::move(transport), model, record, cancel);
  agent::ModelAgent const* const watched = made.get();
  return ChosenAgent(std::move(made), std::move(log), watched);
}

} // namespace tik::cli
