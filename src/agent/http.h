// One HTTP POST whose answer is read as it comes. libcurl is loaded when it is first needed, so that a program copied to a host
// without it does all else.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/base/error.h"

namespace tik::agent {

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers; // "name: value"; they may hold a key and are never shown
  std::string body;
  double connect_seconds = 30;
  double idle_seconds = 120; // without a byte
  double total_seconds = 1800;
  std::function<bool(std::string_view piece)> on_body; // false ends the transfer
  std::atomic<bool> const* cancel = nullptr;
};

struct HttpReply {
  long status = 0;                            // 0: no answer came
  std::map<std::string, std::string> headers; // names in lower case
  std::string failure;                        // why the transfer ended early; empty when it is complete
  bool stopped = false;                       // on_body ended it
  bool cancelled = false;
};

// An Error when libcurl is not there; what happens on the way is in the reply. Redirections are not followed: a key goes to the
// host that the user named and to no other.
Result<HttpReply> post(HttpRequest const& request);

// Which libcurl a language model would be reached with: "libcurl/7.88.1 OpenSSL/3.0.17 ...". An Error when it is not there.
Result<std::string> http_library();

} // namespace tik::agent
