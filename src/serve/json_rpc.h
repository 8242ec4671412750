// JSON-RPC 2.0 over two streams: one message a line, UTF-8.
#pragma once

#include <mutex>
#include <ostream>

#include "src/base/json.h"

namespace tik::serve {

// Codes of the protocol and, below -32000, of MCP.
enum RpcCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  resource_not_found = -32002,
  unsupported_version = -32022,
};

struct RpcError {
  int code = internal_error;
  std::string message;
  Json data = nullptr;
};

Json response(Json const& id, Json result);
Json response(Json const& id, RpcError const& error);
Json notification(std::string_view method, Json params);

// Writes whole messages from any thread.
class RpcWriter {
 public:
  explicit RpcWriter(std::ostream& stream) : stream_(stream) {}
  void send(Json const& message);

 private:
  std::ostream& stream_;
  std::mutex mutex_;
};

} // namespace tik::serve
