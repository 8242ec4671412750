// What the server answers to each method, without how messages travel.
#pragma once

#include <functional>

#include "src/agent/search_desk.h"
#include "src/serve/json_rpc.h"
#include "src/serve/mcp_server.h"

namespace tik::serve {

using RpcResult = tl::expected<Json, RpcError>;

inline constexpr std::string_view modern_version = "2026-07-28";

// The form of the protocol that one request uses.
enum class Era { legacy, modern };

class McpMethods {
 public:
  McpMethods(agent::SearchDesk& desk, McpOptions options);

  // The era of a request, by what its _meta says; an error for a version that is not spoken.
  tl::expected<Era, RpcError> era_of(Json const& params) const;
  RpcResult call(std::string const& method, Json const& params, Era era);

 private:
  Json initialize(Json const& params) const;
  Json discover() const;
  Json capabilities() const;
  Json tools() const;
  RpcResult call_tool(Json const& params, Era era);
  RpcResult resources(Json const& params);
  Json resource_templates() const;
  RpcResult read_resource(Json const& params, Era era);
  Json prompts() const;
  RpcResult prompt(Json const& params) const;

  agent::SearchDesk& desk_;
  McpOptions options_;
  agent::Toolbox toolbox_;
};

} // namespace tik::serve
