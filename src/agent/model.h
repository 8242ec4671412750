// A conversation with a language model, free of any service's wire format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/agent/tool.h"

namespace tik::agent {

struct ToolCall {
  std::string id, name;
  std::string arguments; // as the model wrote it: meant to be a JSON object
};

// The arguments as an object, as services want them back. What is none, a call that was cut off, is in it as the text that
// came.
Json input_of(ToolCall const& call);

struct ToolResult {
  std::string call_id, text;
  bool refused = false;
};

// One message. A turn of the model holds text and calls; the next one answers every call.
struct Turn {
  enum class Role { user, model, results } role = Role::user;
  std::string text;
  std::vector<ToolCall> calls;
  std::vector<ToolResult> results;
  Json kept = nullptr; // blocks that the service wants back unchanged
};

struct ModelRequest {
  std::string system;
  std::vector<Turn> turns;
  std::vector<Tool> tools;
};

// Tokens by the service's own count, in one meaning: input includes what came from a cache, output includes reasoning.
struct Usage {
  std::int64_t input_tokens = 0, cached_tokens = 0, output_tokens = 0;
  bool estimated = false; // the service sent none: as tokens.h reckons
  Json raw = nullptr;     // as it was sent
};

enum class Api { openai, anthropic };
Result<Api> api_from(std::string const& name);

// The service as the user named it; nothing of it has a default that could reach a service unasked.
struct Endpoint {
  Api api = Api::openai;
  std::string base_url, model;
  std::string key; // empty: none is sent. Never shown, never stored
  std::int64_t max_output_tokens = 8192;
  bool require_calls = false;                               // the service is asked to answer with calls only
  std::string output_limit_field = "max_completion_tokens"; // of openai; older servers know max_tokens
};

// What a stream has said so far.
struct StreamState {
  Turn turn{Turn::Role::model, {}, {}, {}, nullptr};
  Usage usage;
  std::string model, stop, problem; // problem: the service reported one in its stream
  bool ended = false;               // the service said that the answer is complete
};

// One service's wire format.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual std::string url(Endpoint const& endpoint) const = 0;
  virtual std::vector<std::string> headers(Endpoint const& endpoint) const = 0;
  virtual Json body(Endpoint const& endpoint, ModelRequest const& request) const = 0;
  // Takes one event of the stream in. Text that is not what the format says is a problem of the state, not an error.
  virtual void take(std::string const& event, std::string const& data, StreamState& state) const = 0;
};
std::unique_ptr<Wire> make_wire(Api api);

// The text of an object's key, empty when there is none.
std::string text_of(Json const& json, char const* key);

// Counts of a usage object, absent ones as zero.
std::int64_t count_of(Json const& usage, std::initializer_list<char const*> path);

} // namespace tik::agent
