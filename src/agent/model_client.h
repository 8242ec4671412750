// Asks a model service, and asks again as the service says.
#pragma once

#include <optional>

#include "src/agent/exchange.h"
#include "src/agent/model.h"

namespace tik::agent {

// What one attempt came to, whether it succeeded or not.
struct Attempt {
  std::int64_t exchange = 0;
  std::string purpose, model, failure; // failure: empty when the answer is whole
  long status = 0;
  Usage usage;
};

struct ClientOptions {
  int retries = 4; // after the first attempt
  double idle_seconds = 120, total_seconds = 1800;
  bool waits = true;                // a recording is not waited for
  double longest_wait_seconds = 60; // a service that asks for more is given up
};

class ModelClient {
 public:
  // `record` is told of every attempt before the next one; its error ends the call.
  ModelClient(Endpoint endpoint, ClientOptions options, std::unique_ptr<Transport> transport,
              std::function<Result<void>(Attempt const&)> record);

  // The model's turn. An error says in a sentence why there is none: cancelled, or what the service answered last.
  Result<StreamState> ask(ModelRequest const& request, std::string const& purpose, std::atomic<bool> const& cancel);

 private:
  struct Tried;
  Result<Tried> attempt(Json const& body, std::string const& purpose, std::atomic<bool> const& cancel);

  Endpoint endpoint_;
  ClientOptions options_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Wire> wire_;
  std::function<Result<void>(Attempt const&)> record_;
};

// How long to wait before another attempt, or nothing where the answer says that none would help: after `tried` attempts.
// Retried are 408, 409, 429, 5xx and broken connections, unless the service says otherwise or the account is the problem.
std::optional<double> wait_before_retry(Exchange const& exchange, int tried);

} // namespace tik::agent
