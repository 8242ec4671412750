// `tik opportunity`: what may be tried next.
#include <fmt/format.h>

#include "src/cli/commands.h"
#include "src/cli/words.h"
#include "src/report/format.h"
#include "src/search/search.h"

namespace tik::cli {
namespace {

std::string state_of(search::OpportunityState const& state) {
  if (state.pending) return "pending";
  return state.actions.empty() ? "withdrawn" : "taken";
}

} // namespace

Result<int> execute(OpportunityList const& options, Console const& console) {
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["opportunities"] = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"id", "state", "kind", "for", "evidence", "mechanism"}};
  for (auto const& [id, state] : search.state().opportunities) {
    if (!state.pending && !options.all) continue;
    TIK_TRY(ir::Opportunity const opportunity, search.store().opportunity(id));
    nlohmann::ordered_json record = ir::to_json(opportunity);
    record["state"] = state_of(state);
    json["opportunities"].push_back(std::move(record));
    rows.push_back({to_string(id), state_of(state), std::string(ir::to_string(opportunity.kind)),
                    report::id_list(opportunity.implementations), report::id_list(opportunity.evidence),
                    report::one_line(opportunity.mechanism, console.columns > 60 ? console.columns - 50 : 100)});
  }
  if (options.json)
    print_json(json);
  else
    print(rows.size() > 1 ? report::text_table(rows, "llllll") : "no opportunity is pending\n");
  return 0;
}

Result<int> execute(OpportunityAdd const& options, Console const&) {
  TIK_TRY(ir::Opportunity opportunity,
          agent::make_opportunity({options.kind, options.mechanism, options.note, options.workloads, options.entry_points,
                                   options.evidence, options.implementations}));
  TIK_TRY(search::Search search, search::Search::open(options.search, search::Search::Mode::write));
  TIK_TRY(ir::Opportunity const recorded, search.propose(std::move(opportunity)));
  if (options.json)
    print_json(ir::to_json(recorded));
  else
    print(fmt::format("{}\n", to_string(recorded.id)));
  return 0;
}

Result<int> execute(OpportunityWithdraw const& options, Console const&) {
  TIK_TRY(ir::OpportunityId const id, ir::parse_id<'O'>(options.id));
  TIK_TRY(search::Search search, search::Search::open(options.search, search::Search::Mode::write));
  TIK_TRY(ir::Withdrawal const recorded, search.withdraw({id, options.reason, ""}));
  print(fmt::format("{} is withdrawn\n", to_string(recorded.opportunity)));
  return 0;
}

} // namespace tik::cli
