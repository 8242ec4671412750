// `tik new`: initialization.
#include <fmt/format.h>

#include "src/cli/commands.h"
#include "src/cli/hosts.h"
#include "src/cli/interrupt.h"
#include "src/cli/progress.h"
#include "src/report/format.h"

namespace tik::cli {

Result<int> execute(New const& options, Console const& console) {
  if (!options.bundle.empty()) return write_root_bundle(options);
  Interrupt const interrupt;
  StageLine line(console, "auditing the root");
  TIK_TRY(search::RootJudge const judge, root_judge(options, line));
  Result<search::Search> created =
      search::Search::create(options.folder, options.specification, options.root, &line, &Interrupt::flag(), judge);
  line.finish();
  if (!created) return tl::unexpected(std::move(created.error()));

  search::State const& state = created->state();
  print(fmt::format("{} is ready: {} is verified, T = {} over {}.\n", options.folder.string(),
                    state.root ? to_string(*state.root) : "the root", report::latency(state.root_total_us),
                    report::count(static_cast<std::int64_t>(created->specification().workloads.size()), "workload")));
  print(fmt::format("Sealed under {}.\nNext: tik run {}\n", created->identity().seal, options.folder.string()));
  return 0;
}

} // namespace tik::cli
