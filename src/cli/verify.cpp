// `tik verify`: is everything as it was written?
#include "src/search/verify.h"

#include <fmt/format.h>

#include "src/cli/commands.h"
#include "src/report/format.h"

namespace tik::cli {

Result<int> execute(Verify const& options, Console const& console) {
  TIK_TRY(ir::Verification const verification, search::verify(options.search));
  bool const sound = verification.findings.empty();
  if (options.json) {
    nlohmann::ordered_json json = {{"schema", 1},
                                   {"sound", sound},
                                   {"records", verification.records},
                                   {"readable_records", verification.readable_records},
                                   {"commits", verification.commits},
                                   {"readable_commits", verification.readable_commits},
                                   {"findings", nlohmann::ordered_json::array()}};
    for (ir::Finding const& finding : verification.findings)
      json["findings"].push_back({{"place", finding.place}, {"sentence", finding.sentence}});
    print_json(json);
    return sound ? 0 : 1;
  }
  for (ir::Finding const& finding : verification.findings)
    print(fmt::format("{}: {}\n", console.paint(finding.place, Paint::bad), finding.sentence));
  print(fmt::format("{}: {} of {} and {} of {} readable\n",
                    sound ? console.paint("sound", Paint::good)
                          : report::count(static_cast<std::int64_t>(verification.findings.size()), "finding"),
                    verification.readable_records, report::count(verification.records, "record"), verification.readable_commits,
                    report::count(verification.commits, "commit")));
  return sound ? 0 : 1;
}

} // namespace tik::cli
