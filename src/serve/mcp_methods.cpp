#include "src/serve/mcp_methods.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/agent/prompts.h"

namespace tik::serve {
namespace {

constexpr std::string_view legacy_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}; // newest first
constexpr char version_key[] = "io.modelcontextprotocol/protocolVersion";
constexpr char capabilities_key[] = "io.modelcontextprotocol/clientCapabilities";
constexpr char server_key[] = "io.modelcontextprotocol/serverInfo";
constexpr std::size_t resources_a_page = 200;
constexpr std::string_view skill_uri = "tik://skill", state_uri = "tik://state";

tl::unexpected<RpcError> refuse(int code, std::string message, Json data = nullptr) {
  return tl::unexpected(RpcError{code, std::move(message), std::move(data)});
}

Json supported_versions() {
  Json list = {modern_version};
  for (std::string_view const version : legacy_versions) list.push_back(version);
  return list;
}

// A text of the parameters; empty where it is missing or something else.
std::string text_of(Json const& params, char const* key) {
  return params.is_object() && params.contains(key) && params[key].is_string() ? params[key].get<std::string>() : std::string();
}

bool records_or_edits(agent::Tool const& tool) { return tool.effect != agent::Tool::Effect::reads; }

// The records of a search as resources: tik://record/I7.
std::vector<std::pair<std::string, std::string>> record_names(agent::Sight const& sight) {
  std::vector<std::pair<std::string, std::string>> names;
  search::State const& state = sight.view().state;
  auto const add = [&](auto id, char const* noun) {
    if (sight.sees(id)) names.emplace_back(to_string(id), noun);
  };
  for (auto const& [id, implementation] : state.implementations) add(id, "implementation");
  for (auto const& [id, opportunity] : state.opportunities) add(id, "opportunity");
  for (auto const& [id, implementation] : state.implementations)
    if (implementation.action) add(*implementation.action, "action");
  for (auto const& [id, implementation] : state.audits) add(id, "audit");
  if (auto const counts = sight.view().store.counts())
    for (std::int64_t number = 1; number <= counts->decisions; ++number) add(ir::LineageId{number}, "lineage decision");
  return names;
}

} // namespace

McpMethods::McpMethods(agent::SearchDesk& desk, McpOptions options)
    : desk_(desk), options_(std::move(options)), toolbox_(desk, options_.withheld, agent::Offer::everything) {}

tl::expected<Era, RpcError> McpMethods::era_of(Json const& params) const {
  if (!params.is_object() || !params.contains("_meta") || !params["_meta"].is_object()) return Era::legacy;
  Json const& meta = params["_meta"];
  if (!meta.contains(version_key)) return Era::legacy;
  if (meta[version_key] != Json(modern_version))
    return refuse(unsupported_version, "This version of the protocol is not spoken here in its stateless form.",
                  {{"supported", supported_versions()}, {"requested", meta[version_key]}});
  if (!meta.contains(capabilities_key) || !meta[capabilities_key].is_object())
    return refuse(invalid_params, fmt::format("_meta has no {}.", capabilities_key));
  return Era::modern;
}

RpcResult McpMethods::call(std::string const& method, Json const& params, Era era) {
  RpcResult result = refuse(method_not_found, fmt::format("{}: there is no such method.", method.substr(0, 80)));
  bool cacheable = true;
  if (method == "initialize" && era == Era::legacy) result = initialize(params);
  if (method == "ping" && era == Era::legacy) result = Json::object();
  if (method == "server/discover" && era == Era::modern) result = discover();
  if (method == "tools/list") result = tools();
  if (method == "resources/list") result = resources(params);
  if (method == "resources/templates/list") result = resource_templates();
  if (method == "resources/read") result = read_resource(params, era);
  if (method == "prompts/list") result = prompts();
  if (method == "tools/call" || method == "prompts/get") {
    cacheable = false;
    result = method == "tools/call" ? call_tool(params, era) : prompt(params);
  }
  if (result && era == Era::modern) {
    (*result)["resultType"] = "complete";
    (*result)["_meta"][server_key] = {{"name", "tik"}, {"version", options_.version}};
    if (cacheable) { // what a search shows changes with every record
      (*result)["ttlMs"] = 0;
      (*result)["cacheScope"] = "private";
    }
  }
  return result;
}

Json McpMethods::capabilities() const {
  return {{"tools", Json::object()}, {"resources", Json::object()}, {"prompts", Json::object()}};
}

Json McpMethods::initialize(Json const& params) const {
  std::string const asked = text_of(params, "protocolVersion");
  bool const spoken = std::find(std::begin(legacy_versions), std::end(legacy_versions), asked) != std::end(legacy_versions);
  return {{"protocolVersion", spoken ? asked : std::string(legacy_versions[0])},
          {"capabilities", capabilities()},
          {"serverInfo", {{"name", "tik"}, {"title", "TIK"}, {"version", options_.version}}},
          {"instructions", agent::prompt("instructions.md")}};
}

Json McpMethods::discover() const {
  return {{"supportedVersions", supported_versions()},
          {"capabilities", capabilities()},
          {"instructions", agent::prompt("instructions.md")}};
}

Json McpMethods::tools() const {
  Json list = Json::array();
  for (agent::Tool const& tool : toolbox_.tools()) {
    if (options_.read_only && records_or_edits(tool)) continue;
    bool const reads = tool.effect == agent::Tool::Effect::reads;
    list.push_back(
        {{"name", tool.name},
         {"title", tool.title},
         {"description", tool.description},
         {"inputSchema", agent::input_schema(tool)},
         {"annotations",
          {{"readOnlyHint", reads}, {"destructiveHint", false}, {"idempotentHint", reads}, {"openWorldHint", false}}}});
  }
  return {{"tools", std::move(list)}};
}

RpcResult McpMethods::call_tool(Json const& params, Era) {
  std::string const name = text_of(params, "name");
  auto const& tools = toolbox_.tools();
  auto const tool = std::find_if(tools.begin(), tools.end(), [&](agent::Tool const& known) { return known.name == name; });
  if (tool == tools.end() || (options_.read_only && records_or_edits(*tool)))
    return refuse(invalid_params, fmt::format("'{}' is no tool of this server; tools/list names them.", name.substr(0, 80)));
  Json const arguments = params.contains("arguments") && !params["arguments"].is_null() ? params["arguments"] : Json::object();
  auto const answer = toolbox_.call(name, arguments);
  // Also what is the machine's fault goes to the agent as a sentence: it decides whether to go on.
  std::string const text = answer ? answer->text : answer.error().message;
  return Json{{"content", {{{"type", "text"}, {"text", text}}}}, {"isError", !answer || answer->refused}};
}

RpcResult McpMethods::resources(Json const& params) {
  std::size_t first = 0;
  if (std::string const cursor = text_of(params, "cursor"); !cursor.empty()) {
    if (cursor.size() > 9 || !std::all_of(cursor.begin(), cursor.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return refuse(invalid_params, "The cursor is none of this server's.");
    first = std::stoul(cursor);
  }
  auto const names = record_names({desk_.view(), options_.withheld});
  Json list = Json::array();
  if (first == 0) {
    list.push_back({{"uri", skill_uri},
                    {"name", "skill"},
                    {"description", "How to run the workflow well"},
                    {"mimeType", "text/markdown"}});
    list.push_back(
        {{"uri", state_uri}, {"name", "state"}, {"description", "Where the search stands"}, {"mimeType", "application/json"}});
  }
  for (std::size_t i = first; i < std::min(names.size(), first + resources_a_page); ++i)
    list.push_back({{"uri", "tik://record/" + names[i].first},
                    {"name", names[i].first},
                    {"description", names[i].second},
                    {"mimeType", "application/json"}});
  Json result = {{"resources", std::move(list)}};
  if (first + resources_a_page < names.size()) result["nextCursor"] = std::to_string(first + resources_a_page);
  return result;
}

Json McpMethods::resource_templates() const {
  return {{"resourceTemplates",
           {{{"uriTemplate", "tik://record/{id}"},
             {"name", "record"},
             {"description", "A record: I7, O12, A7, U7, L7"},
             {"mimeType", "application/json"}},
            {{"uriTemplate", "tik://source/{implementation}/{+file}"},
             {"name", "source"},
             {"description", "A source file with line numbers"},
             {"mimeType", "text/plain"}}}}};
}

RpcResult McpMethods::read_resource(Json const& params, Era era) {
  std::string const uri = text_of(params, "uri");
  int const missing = era == Era::modern ? invalid_params : resource_not_found;
  auto const contents = [&](std::string text, char const* type) {
    return Json{{"contents", {{{"uri", uri}, {"mimeType", type}, {"text", std::move(text)}}}}};
  };
  auto const tool = [&](char const* name, Json arguments, char const* type) -> RpcResult {
    arguments["max_bytes"] = agent::largest_answer_bytes;
    auto const answer = toolbox_.call(name, arguments);
    if (!answer) return refuse(internal_error, answer.error().message);
    if (answer->refused) return refuse(missing, answer->text);
    return contents(answer->text, type);
  };
  if (uri == skill_uri) return contents(std::string(agent::prompt("skill.md")), "text/markdown");
  if (uri == state_uri) return tool("state", Json::object(), "application/json");
  if (uri.starts_with("tik://record/")) return tool("read_record", {{"ids", {uri.substr(13)}}}, "application/json");
  if (uri.starts_with("tik://source/")) {
    std::string const rest = uri.substr(13);
    std::size_t const slash = rest.find('/');
    if (slash != std::string::npos)
      return tool("read_source", {{"implementation", rest.substr(0, slash)}, {"file", rest.substr(slash + 1)}}, "text/plain");
  }
  return refuse(missing, fmt::format("{}: there is no such resource.", uri.substr(0, 200)), {{"uri", uri}});
}

Json McpMethods::prompts() const {
  return {{"prompts",
           {{{"name", "search"},
             {"title", "Run the search"},
             {"description", "How to run the workflow of a search well, step by step"}}}}};
}

RpcResult McpMethods::prompt(Json const& params) const {
  if (text_of(params, "name") != "search") return refuse(invalid_params, "There is one prompt here: search.");
  return Json{{"description", "How to run the workflow of a search well"},
              {"messages", {{{"role", "user"}, {"content", {{"type", "text"}, {"text", agent::prompt("skill.md")}}}}}}};
}

} // namespace tik::serve
