// Messages as Anthropic documents them.
#include "src/agent/model.h"

namespace tik::agent {
namespace {

constexpr char version[] = "2023-06-01";

// What precedes the mark is kept by the service for the next call.
Json cached(Json block) {
  block["cache_control"] = {{"type", "ephemeral"}};
  return block;
}

Json content_of(Turn const& turn) {
  Json content = Json::array();
  if (turn.kept.is_array())
    for (Json const& block : turn.kept) content.push_back(block);
  if (!turn.text.empty()) content.push_back({{"type", "text"}, {"text", turn.text}});
  for (ToolCall const& call : turn.calls)
    content.push_back({{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", input_of(call)}});
  for (ToolResult const& result : turn.results)
    content.push_back(
        {{"type", "tool_result"}, {"tool_use_id", result.call_id}, {"content", result.text}, {"is_error", result.refused}});
  return content;
}

class AnthropicWire : public Wire {
 public:
  std::string url(Endpoint const& endpoint) const override { return endpoint.base_url + "/v1/messages"; }

  std::vector<std::string> headers(Endpoint const& endpoint) const override {
    std::vector<std::string> list = {"Content-Type: application/json", "Accept: text/event-stream",
                                     std::string("anthropic-version: ") + version};
    if (!endpoint.key.empty()) list.push_back("x-api-key: " + endpoint.key);
    return list;
  }

  Json body(Endpoint const& endpoint, ModelRequest const& request) const override {
    Json body = {{"model", endpoint.model}, {"max_tokens", endpoint.max_output_tokens}, {"stream", true}};
    body["system"] = {cached({{"type", "text"}, {"text", request.system}})};
    for (Tool const& tool : request.tools)
      body["tools"].push_back({{"name", tool.name}, {"description", tool.description}, {"input_schema", input_schema(tool)}});
    if (endpoint.require_calls) body["tool_choice"] = {{"type", "any"}, {"disable_parallel_tool_use", true}};
    body["messages"] = Json::array();
    for (Turn const& turn : request.turns)
      body["messages"].push_back(
          {{"role", turn.role == Turn::Role::model ? "assistant" : "user"}, {"content", content_of(turn)}});
    if (!body["messages"].empty()) {
      Json& content = body["messages"].back()["content"];
      if (!content.empty()) content.back() = cached(content.back());
    }
    return body;
  }

  void take(std::string const& event, std::string const& data, StreamState& state) const override {
    auto const parsed = parse_json(data, "event");
    if (!parsed || !parsed->is_object()) {
      state.problem = "a part of the stream is not JSON";
      return;
    }
    Json const& json = *parsed;
    std::string const type = event.empty() ? text_of(json, "type") : event;
    if (type == "error" && json.contains("error"))
      state.problem = text_of(json["error"], "type") + ": " + text_of(json["error"], "message");
    if (type == "message_start" && json.contains("message")) {
      state.model = text_of(json["message"], "model");
      if (json["message"].is_object() && json["message"].contains("usage")) take_usage(json["message"]["usage"], state);
    }
    if (type == "content_block_start" && json.contains("content_block")) start_block(json["content_block"], state);
    if (type == "content_block_delta" && json.contains("delta")) take_delta(json["delta"], state);
    if (type == "message_delta") {
      if (json.contains("delta")) state.stop = text_of(json["delta"], "stop_reason");
      if (json.contains("usage")) take_usage(json["usage"], state);
    }
    if (type == "message_stop") state.ended = true;
  }

 private:
  // input_tokens excludes what was written to or read from the cache; later counts replace earlier ones.
  static void take_usage(Json const& usage, StreamState& state) {
    if (!usage.is_object()) return;
    Json& raw = state.usage.raw;
    if (!raw.is_object()) raw = Json::object();
    for (auto const& [key, value] : usage.items()) raw[key] = value;
    state.usage.cached_tokens = count_of(raw, {"cache_read_input_tokens"});
    state.usage.input_tokens =
        count_of(raw, {"input_tokens"}) + count_of(raw, {"cache_creation_input_tokens"}) + state.usage.cached_tokens;
    state.usage.output_tokens = count_of(raw, {"output_tokens"});
  }

  static void start_block(Json const& block, StreamState& state) {
    std::string const type = text_of(block, "type");
    if (type == "tool_use" && state.turn.calls.size() < most_elements)
      state.turn.calls.push_back({text_of(block, "id"), text_of(block, "name"), ""});
    if (type == "thinking" || type == "redacted_thinking") {
      if (!state.turn.kept.is_array()) state.turn.kept = Json::array();
      state.turn.kept.push_back(block);
    }
    if (type == "text") state.turn.text += text_of(block, "text");
  }

  static void take_delta(Json const& delta, StreamState& state) {
    std::string const type = text_of(delta, "type");
    if (type == "text_delta") state.turn.text += text_of(delta, "text");
    if (type == "input_json_delta" && !state.turn.calls.empty())
      state.turn.calls.back().arguments += text_of(delta, "partial_json");
    bool const thinks = state.turn.kept.is_array() && !state.turn.kept.empty();
    for (auto const& [kind, key] : {std::pair{"thinking_delta", "thinking"}, std::pair{"signature_delta", "signature"}})
      if (thinks && type == kind) {
        Json& block = state.turn.kept.back();
        block[key] = text_of(block, key) + text_of(delta, key);
      }
  }
};

} // namespace

std::unique_ptr<Wire> make_anthropic_wire() { return std::make_unique<AnthropicWire>(); }

} // namespace tik::agent
