// `tik mcp`: a coding agent drives the search over standard input and output.
#include <iostream>

#include "src/cli/commands.h"
#include "src/cli/hosts.h"
#include "src/cli/version.h"
#include "src/serve/mcp_server.h"

namespace tik::cli {

Result<int> execute(Mcp const& options, Console const&) {
  TIK_TRY(agent::Withheld const withheld, agent::withheld_from(options.without));
  if (options.describe) {
    print(agent::describe(agent::tool_table(withheld, agent::Offer::everything)));
    return 0;
  }
  if (options.read_only && !options.runner.empty()) return input_error("--runner: with --read-only nothing is audited.");
  TIK_TRY(auto const host, host_command(options));
  using search::Search;
  TIK_TRY(Search search, Search::open(options.search, options.read_only ? Search::Mode::read : Search::Mode::write));
  agent::SearchDesk desk(std::move(search), options.search, agent::agent_name(options.agent, withheld));
  if (host) desk.audit_on(*host);
  serve::serve_mcp(desk, {withheld, options.read_only, version_text()}, std::cin, std::cout);
  return 0;
}

} // namespace tik::cli
