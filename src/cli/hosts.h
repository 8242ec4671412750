// Audits on another host, from the command line: bundles out, reports in, and the command that reaches a host.
#pragma once

#include <optional>
#include <string>

#include "src/cli/console.h"
#include "src/cli/options.h"
#include "src/cli/progress.h"
#include "src/search/search.h"

namespace tik::cli {

// The host that the options name; none: audits run in this process. An input error when its command cannot be used.
Result<std::optional<evaluator::HostCommand>> host_command(OnHost const& options);
// Who audits the root of `tik new`: this process (an empty judge), a host, or reports that were fetched. `line` is kept.
Result<search::RootJudge> root_judge(New const& options, StageLine& line);

Result<int> write_root_bundle(New const& options);                            // tik new --bundle
Result<int> write_bundle(Audit const& options);                               // tik audit --bundle
Result<int> audit_together(Audit const& options, Console const& console);     // tik audit I5 I6 --runner
Result<int> apply_reports(Audit const& options, Console const& console);      // tik audit --apply
Result<int> evaluate_bundle(Evaluate const& options, Console const& console); // tik evaluate --bundle

// "promoted, 1.2x as fast as the root", "verified, not promoted", "not verified"
std::string verdict_text(search::State const& state, ir::ImplementationId id);
// " -C DIR" behind a command that a sentence recommends, or nothing for the current folder.
std::string search_option(std::filesystem::path const& search);

} // namespace tik::cli
