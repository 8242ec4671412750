// `tik mcp`: the tool surface for a coding agent, by the Model Context Protocol over stdio. Both forms of the protocol are
// spoken: the one that begins with `initialize` (versions 2024-11-05 to 2025-11-25), and the stateless one (2026-07-28), whose
// every request names its version.
#pragma once

#include <istream>
#include <ostream>

#include "src/agent/search_desk.h"

namespace tik::serve {

struct McpOptions {
  agent::Withheld withheld;
  bool read_only = false;
  std::string version; // of this program
};

// Serves until `in` ends; then what runs is stopped, nothing of it recorded. Messages go to `out` and to nothing else.
void serve_mcp(agent::SearchDesk& desk, McpOptions const& options, std::istream& in, std::ostream& out);

} // namespace tik::serve
