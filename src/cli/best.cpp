// `tik best` and `tik report`: what a search is for.
#include <fmt/format.h>

#include "src/cli/commands.h"
#include "src/report/format.h"
#include "src/report/report.h"

namespace tik::cli {

Result<int> execute(Best const& options, Console const& console) {
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  search::State const& state = search.state();
  if (!state.incumbent) return input_error(fmt::format("{}: the search has no incumbent.", options.search.string()));
  TIK_TRY(ir::Implementation const best, search.store().implementation(*state.incumbent));
  if (!options.export_to.empty()) TIK_CHECK(search.sources().check_out(best.commit, options.export_to));
  if (options.json) {
    nlohmann::ordered_json json;
    json["schema"] = 1;
    json["id"] = to_string(best.id);
    json["commit"] = best.commit;
    json["source_sha256"] = best.source_sha256;
    json["total_us"] = state.incumbent_total_us;
    json["speedup"] = state.speedup();
    json["exported_to"] =
        options.export_to.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(options.export_to.string());
    print_json(json);
    return 0;
  }
  print(fmt::format("{}, {} as fast as the root (T {} against {})\n", console.paint(to_string(best.id), Paint::bold),
                    report::ratio(state.speedup()), report::latency(state.incumbent_total_us),
                    report::latency(state.root_total_us)));
  if (!options.export_to.empty()) print(fmt::format("sources: {}\n", options.export_to.string()));
  return 0;
}

Result<int> execute(Report const& options, Console const&) {
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  TIK_TRY(report::History const history, report::read_history(search));
  std::filesystem::path const folder = options.out.empty() ? options.search / "report" : options.out;
  TIK_TRY(std::filesystem::path const written, report::write_report(history, folder));
  print(written.string() + '\n');
  return 0;
}

} // namespace tik::cli
