// The commands. Each does what its options ask, prints what a person or a program reads, and returns the exit code: 0 done,
// 1 a negative answer. An error is what the user must act on; nothing was changed then unless its sentence says so.
#pragma once

#include "src/cli/console.h"
#include "src/cli/options.h"

namespace tik::cli {

Result<int> execute(New const& options, Console const& console);
Result<int> execute(Run const& options, Console const& console);
Result<int> execute(Status const& options, Console const& console);
Result<int> execute(Log const& options, Console const& console);
Result<int> execute(Show const& options, Console const& console);
Result<int> execute(Diff const& options, Console const& console);
Result<int> execute(Best const& options, Console const& console);
Result<int> execute(Evaluate const& options, Console const& console);
Result<int> execute(Report const& options, Console const& console);
Result<int> execute(OpportunityList const& options, Console const& console);
Result<int> execute(OpportunityAdd const& options, Console const& console);
Result<int> execute(OpportunityWithdraw const& options, Console const& console);
Result<int> execute(ActBegin const& options, Console const& console);
Result<int> execute(ActSubmit const& options, Console const& console);
Result<int> execute(Audit const& options, Console const& console);
Result<int> execute(Decide const& options, Console const& console);
Result<int> execute(Mcp const& options, Console const& console);
Result<int> execute(Check const& options, Console const& console);
Result<int> execute(Verify const& options, Console const& console);
Result<int> execute(Doctor const& options, Console const& console);
Result<int> execute(Export const& options, Console const& console);
Result<int> execute(Import const& options, Console const& console);
Result<int> execute(Completion const& options, Console const& console);

} // namespace tik::cli
