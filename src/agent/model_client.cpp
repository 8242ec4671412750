#include "src/agent/model_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "src/agent/sse.h"
#include "src/agent/tokens.h"
#include "src/report/format.h"

namespace tik::agent {
namespace {

constexpr std::size_t stream_bytes_a_token = 512; // what a stream may spend on one token, its wrapping included

std::string header(Exchange const& exchange, char const* name) {
  auto const found = exchange.headers.find(name);
  return found == exchange.headers.end() ? std::string() : found->second;
}

std::optional<double> number(std::string const& text) {
  char* end = nullptr;
  double const value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

// Seconds that the service asks for: milliseconds, seconds, or a date.
std::optional<double> asked_wait(Exchange const& exchange) {
  if (auto const milliseconds = number(header(exchange, "retry-after-ms"))) return *milliseconds / 1000;
  std::string const text = header(exchange, "retry-after");
  if (auto const seconds = number(text)) return seconds;
  std::tm parts{};
  if (!text.empty() && strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) != nullptr)
    return std::max(0.0, std::difftime(timegm(&parts), std::time(nullptr)));
  return std::nullopt;
}

// What an error body says, in one line.
std::string words_of(Exchange const& exchange) {
  auto const json = parse_json(exchange.body, "answer");
  if (json && json->is_object() && json->contains("error")) {
    Json const& error = (*json)["error"];
    if (error.is_string()) return error.get<std::string>();
    if (error.is_object() && error.contains("message") && error["message"].is_string())
      return error["message"].get<std::string>();
  }
  return report::one_line(exchange.body.substr(0, 400), 300);
}

bool is_about_the_account(Exchange const& exchange) {
  for (char const* const word : {"insufficient_quota", "billing", "credit balance", "payment"})
    if (exchange.body.find(word) != std::string::npos) return true;
  return exchange.status == 402;
}

Json blotted(Json json, std::string const& key) {
  if (json.is_string()) return agent::blotted(json.get<std::string>(), key);
  if (json.is_structured())
    for (Json& element : json) element = blotted(std::move(element), key);
  return json;
}

// A service knows the key, and what it says goes on into records: there it must not be.
void blot(StreamState& state, std::string const& key) {
  if (key.empty()) return;
  for (std::string* const text : {&state.turn.text, &state.model, &state.stop, &state.problem})
    *text = agent::blotted(std::move(*text), key);
  for (ToolCall& call : state.turn.calls)
    for (std::string* const text : {&call.id, &call.name, &call.arguments}) *text = agent::blotted(std::move(*text), key);
  state.turn.kept = blotted(std::move(state.turn.kept), key);
  state.usage.raw = blotted(std::move(state.usage.raw), key);
}

bool sleep_for(double seconds, std::atomic<bool> const& cancel) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!cancel && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !cancel;
}

} // namespace

std::optional<double> wait_before_retry(Exchange const& exchange, int tried) {
  bool const answered = exchange.status >= 400;
  if (answered && is_about_the_account(exchange)) return std::nullopt;
  std::string const advice = header(exchange, "x-should-retry");
  bool const retried =
      !answered || exchange.status == 408 || exchange.status == 409 || exchange.status == 429 || exchange.status >= 500;
  if (advice == "false" || (!retried && advice != "true")) return std::nullopt;
  if (auto const asked = asked_wait(exchange)) return asked;
  return std::min(8.0, 0.5 * std::pow(2.0, tried - 1));
}

// One attempt with its state, and why it failed.
struct ModelClient::Tried {
  Exchange exchange;
  StreamState state;
  std::string failure;
};

ModelClient::ModelClient(Endpoint endpoint, ClientOptions options, std::unique_ptr<Transport> transport,
                         std::function<Result<void>(Attempt const&)> record)
    : endpoint_(std::move(endpoint)),
      options_(options),
      transport_(std::move(transport)),
      wire_(make_wire(endpoint_.api)),
      record_(std::move(record)) {}

Result<ModelClient::Tried> ModelClient::attempt(Json const& body, std::string const& purpose, std::atomic<bool> const& cancel) {
  Tried tried;
  SseReader reader;
  std::size_t received = 0;
  std::size_t const most =
      (std::size_t{1} << 20) + stream_bytes_a_token * static_cast<std::size_t>(endpoint_.max_output_tokens);
  bool endless = false;
  HttpRequest request;
  request.url = wire_->url(endpoint_);
  request.headers = wire_->headers(endpoint_);
  request.idle_seconds = options_.idle_seconds;
  request.total_seconds = options_.total_seconds;
  request.cancel = &cancel;
  request.on_body = [&](std::string_view piece) {
    received += piece.size();
    bool const fits =
        reader.feed(piece, [&](std::string const& event, std::string const& data) { wire_->take(event, data, tried.state); });
    endless = !fits || received > most;
    return !endless;
  };
  TIK_TRY(tried.exchange, transport_->send(std::move(request), purpose, body));
  Exchange const& exchange = tried.exchange;
  blot(tried.state, endpoint_.key);
  StreamState const& state = tried.state;
  bool const whole = state.ended || !state.stop.empty();
  if (exchange.failure == "cancelled")
    return tl::unexpected(Error{ErrorKind::cancelled, "The call to the model was cancelled."});
  if (endless)
    tried.failure = fmt::format("its answer goes on beyond {} bytes, and was left", most);
  else if (exchange.status >= 400)
    tried.failure = fmt::format("it answered {}: {}", exchange.status, agent::blotted(words_of(exchange), endpoint_.key));
  else if (!state.problem.empty())
    tried.failure = "its stream reports: " + report::one_line(state.problem, 300);
  else if (exchange.status == 0 || (!exchange.failure.empty() && !whole))
    tried.failure = exchange.failure.empty() ? "no answer came" : exchange.failure;
  else if (!whole)
    tried.failure = received == 0 ? "its answer is empty" : "its stream ended before the answer did";
  else if (state.turn.text.empty() && state.turn.calls.empty())
    tried.failure = "its answer holds neither text nor a call";
  return tried;
}

Result<StreamState> ModelClient::ask(ModelRequest const& request, std::string const& purpose, std::atomic<bool> const& cancel) {
  Json const body = wire_->body(endpoint_, request);
  for (int tries = 1;; ++tries) {
    TIK_TRY(Tried tried, attempt(body, purpose, cancel));
    Usage& usage = tried.state.usage;
    if (usage.raw.is_null() && tried.exchange.status == 200) {
      std::size_t output = tried.state.turn.text.size();
      for (ToolCall const& call : tried.state.turn.calls) output += call.name.size() + call.arguments.size();
      usage = {estimated_tokens(dump_json(body).size()), 0, estimated_tokens(output), true, nullptr};
    }
    std::string const& model = tried.state.model.empty() ? endpoint_.model : tried.state.model;
    TIK_CHECK(record_({tried.exchange.number, purpose, model, tried.failure, tried.exchange.status, usage}));
    if (tried.failure.empty()) return std::move(tried.state);
    auto const wait = wait_before_retry(tried.exchange, tries);
    std::string const sentence =
        fmt::format("The model service at {} gave no usable answer: {}.", endpoint_.base_url, tried.failure);
    if (!wait) return machine_error(sentence);
    if (*wait > options_.longest_wait_seconds)
      return machine_error(
          fmt::format("{} It asks to wait {:.0f} seconds, longer than is waited; run the search again then.", sentence, *wait));
    if (tries > options_.retries)
      return machine_error(fmt::format("{} It was asked {} times; run the search again when it is well.", sentence, tries));
    if (!sleep_for(options_.waits ? *wait : 0, cancel))
      return tl::unexpected(Error{ErrorKind::cancelled, "The call to the model was cancelled."});
  }
}

} // namespace tik::agent
