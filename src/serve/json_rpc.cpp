#include "src/serve/json_rpc.h"

namespace tik::serve {

Json response(Json const& id, Json result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}; }

Json response(Json const& id, RpcError const& error) {
  Json body = {{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}};
}

Json notification(std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

void RpcWriter::send(Json const& message) {
  std::string const line = dump_json(message) + '\n';
  std::lock_guard const lock(mutex_);
  stream_ << line << std::flush;
}

} // namespace tik::serve
