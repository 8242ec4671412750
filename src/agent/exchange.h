// Every exchange with a model service as one line of JSON: for accounting after a crash, and to replay a search without it.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "src/agent/http.h"
#include "src/base/json.h"

namespace tik::agent {

struct Exchange {
  std::int64_t number = 0; // of this search, from 1
  std::string purpose;     // "act", "manage"
  Json request;            // the body that was sent; headers, which hold the key, are not kept
  long status = 0;
  std::map<std::string, std::string> headers; // that say how to try again
  std::string body;                           // as far as it came
  std::string failure;                        // why it ended early
};

// A file of exchanges: one line before each call and one after, so that a call that a crash cut off is known.
class ExchangeLog {
 public:
  // Reads what is there; a last line that a crash cut off is dropped.
  static Result<ExchangeLog> open(std::filesystem::path const& file);

  struct Begun {
    std::int64_t number = 0, input_tokens = 0; // estimated
    std::string purpose;
  };
  Result<std::int64_t> begin(std::string const& purpose, std::int64_t estimated_input_tokens);
  Result<void> end(Exchange const& exchange);
  std::vector<Begun> const& earlier() const { return earlier_; } // calls of earlier processes, ended or not

 private:
  Result<void> append(Json const& line) const;
  std::filesystem::path file_;
  std::int64_t last_ = 0;
  std::vector<Begun> earlier_;
};

// The finished exchanges of a file, in order.
Result<std::deque<Exchange>> read_exchanges(std::filesystem::path const& file);

// One attempt to send a body. What happens on the way is in the exchange.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Result<Exchange> send(HttpRequest request, std::string const& purpose, Json const& body) = 0;
};

// Over the network, with both lines in `log`; `key` is blotted out of everything that is kept.
std::unique_ptr<Transport> make_live_transport(ExchangeLog& log, std::string key);
// From a file: answers come in the order in which they were recorded, one queue a purpose.
Result<std::unique_ptr<Transport>> make_replay_transport(std::filesystem::path const& file);

// The text without any occurrence of the key.
std::string blotted(std::string text, std::string const& key);

} // namespace tik::agent
