// Chat completions as OpenAI documents them and many servers speak them.
#include <fmt/format.h>

#include "src/agent/model.h"

namespace tik::agent {
namespace {

void add_messages(Turn const& turn, Json& messages) {
  switch (turn.role) {
    case Turn::Role::user:
      messages.push_back({{"role", "user"}, {"content", turn.text}});
      return;
    case Turn::Role::model: {
      Json message = {{"role", "assistant"},
                      {"content", turn.text.empty() && !turn.calls.empty() ? Json(nullptr) : Json(turn.text)}};
      for (ToolCall const& call : turn.calls)
        message["tool_calls"].push_back({{"id", call.id},
                                         {"type", "function"},
                                         {"function", {{"name", call.name}, {"arguments", dump_json(input_of(call))}}}});
      messages.push_back(std::move(message));
      return;
    }
    case Turn::Role::results:
      for (ToolResult const& result : turn.results)
        messages.push_back({{"role", "tool"}, {"tool_call_id", result.call_id}, {"content", result.text}});
  }
}

class OpenAiWire : public Wire {
 public:
  std::string url(Endpoint const& endpoint) const override { return endpoint.base_url + "/chat/completions"; }

  std::vector<std::string> headers(Endpoint const& endpoint) const override {
    std::vector<std::string> list = {"Content-Type: application/json", "Accept: text/event-stream"};
    if (!endpoint.key.empty()) list.push_back("Authorization: Bearer " + endpoint.key);
    return list;
  }

  Json body(Endpoint const& endpoint, ModelRequest const& request) const override {
    Json messages = {{{"role", "system"}, {"content", request.system}}};
    for (Turn const& turn : request.turns) add_messages(turn, messages);
    Json body = {{"model", endpoint.model}, {"messages", std::move(messages)}, {"stream", true}};
    body["stream_options"] = {{"include_usage", true}};
    body[endpoint.output_limit_field] = endpoint.max_output_tokens;
    if (endpoint.require_calls) {
      body["tool_choice"] = "required";
      body["parallel_tool_calls"] = false; // a small model goes on calling until the limit of an answer
    }
    for (Tool const& tool : request.tools)
      body["tools"].push_back(
          {{"type", "function"},
           {"function", {{"name", tool.name}, {"description", tool.description}, {"parameters", input_schema(tool)}}}});
    return body;
  }

  void take(std::string const&, std::string const& data, StreamState& state) const override {
    if (data == "[DONE]") {
      state.ended = true;
      return;
    }
    auto const chunk = parse_json(data, "chunk");
    if (!chunk || !chunk->is_object()) {
      state.problem = "a part of the stream is not JSON";
      return;
    }
    if (chunk->contains("error")) state.problem = text_of((*chunk)["error"], "message");
    if (std::string const model = text_of(*chunk, "model"); !model.empty()) state.model = model;
    if (chunk->contains("usage") && (*chunk)["usage"].is_object()) take_usage((*chunk)["usage"], state);
    if (!chunk->contains("choices") || !(*chunk)["choices"].is_array() || (*chunk)["choices"].empty()) return;
    Json const& choice = (*chunk)["choices"][0];
    if (std::string const stop = text_of(choice, "finish_reason"); !stop.empty()) state.stop = stop;
    if (choice.is_object() && choice.contains("delta")) take_delta(choice["delta"], state);
  }

 private:
  // prompt_tokens includes the cached ones, completion_tokens the reasoning.
  static void take_usage(Json const& usage, StreamState& state) {
    state.usage.raw = usage;
    state.usage.input_tokens = count_of(usage, {"prompt_tokens"});
    state.usage.cached_tokens = count_of(usage, {"prompt_tokens_details", "cached_tokens"});
    state.usage.output_tokens = count_of(usage, {"completion_tokens"});
  }

  static void take_delta(Json const& delta, StreamState& state) {
    state.turn.text += text_of(delta, "content");
    if (!delta.is_object() || !delta.contains("tool_calls") || !delta["tool_calls"].is_array()) return;
    for (Json const& part : delta["tool_calls"]) {
      if (!part.is_object()) continue;
      std::size_t const last = state.turn.calls.empty() ? 0 : state.turn.calls.size() - 1;
      std::size_t const index =
          part.contains("index") && part["index"].is_number_unsigned() ? part["index"].get<std::size_t>() : last;
      if (index >= most_elements) continue;
      if (index >= state.turn.calls.size()) state.turn.calls.resize(index + 1);
      ToolCall& call = state.turn.calls[index];
      if (std::string const id = text_of(part, "id"); !id.empty()) call.id = id;
      if (!part.contains("function")) continue;
      call.name += text_of(part["function"], "name");
      call.arguments += text_of(part["function"], "arguments");
    }
  }
};

} // namespace

std::unique_ptr<Wire> make_anthropic_wire();
std::unique_ptr<Wire> make_wire(Api api) {
  if (api == Api::anthropic) return make_anthropic_wire();
  return std::make_unique<OpenAiWire>();
}

std::string text_of(Json const& json, char const* key) {
  return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

Json input_of(ToolCall const& call) {
  auto const parsed = parse_json(call.arguments.empty() ? "{}" : call.arguments, "arguments");
  return parsed && parsed->is_object() ? *parsed : Json{{"unreadable", call.arguments}};
}

std::int64_t count_of(Json const& usage, std::initializer_list<char const*> path) {
  Json const* at = &usage;
  for (char const* const key : path) {
    if (!at->is_object() || !at->contains(key)) return 0;
    at = &(*at)[key];
  }
  if (!at->is_number_integer()) return 0;
  auto const count = at->get<std::int64_t>();
  return count > 0 && count < (INT64_C(1) << 40) ? count : 0;
}

Result<Api> api_from(std::string const& name) {
  if (name == "openai") return Api::openai;
  if (name == "anthropic") return Api::anthropic;
  return input_error(
      fmt::format("--api {}: there is no such wire format. Known: openai, anthropic.", name.empty() ? "(none)" : name));
}

} // namespace tik::agent
