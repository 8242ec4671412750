// `tik diff`: two implementations compared, by source or by evidence.
#include <fmt/format.h>

#include "src/cli/commands.h"
#include "src/cli/diff_text.h"
#include "src/cli/report_text.h"
#include "src/search/search.h"

namespace tik::cli {
namespace {

Result<evaluator::Report> latest_report(search::Search const& search, ir::ImplementationId id) {
  TIK_TRY(std::vector<ir::Audit> const audits, search.store().audits_of(id));
  if (audits.empty())
    return input_error(
        fmt::format("{}: not audited yet, so there is no evidence to compare. `tik audit` audits it.", to_string(id)));
  return audits.back().report;
}

} // namespace

Result<int> execute(Diff const& options, Console const& console) {
  TIK_TRY(ir::ImplementationId const from, ir::parse_id<'I'>(options.from));
  TIK_TRY(ir::ImplementationId const to, ir::parse_id<'I'>(options.to));
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  TIK_TRY(ir::Implementation const left, search.store().implementation(from));
  TIK_TRY(ir::Implementation const right, search.store().implementation(to));
  if (options.evidence) {
    TIK_TRY(evaluator::Report const left_report, latest_report(search, from));
    TIK_TRY(evaluator::Report const right_report, latest_report(search, to));
    print(comparison_text(to_string(from), left_report, to_string(to), right_report, console));
    return 0;
  }
  TIK_TRY(ir::Difference const difference, search.sources().diff(left.commit, right.commit));
  print(diff_text(difference.text, console));
  return 0;
}

} // namespace tik::cli
