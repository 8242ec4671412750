// `tik status`: where a search stands, from the folded state alone.
#include <fmt/format.h>

#include <map>

#include "src/cli/commands.h"
#include "src/report/attempt.h"
#include "src/report/format.h"
#include "src/report/usage.h"
#include "src/search/search.h"

namespace tik::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Standing {
  std::map<report::Verdict, int> verdicts; // of the offspring
  std::vector<ir::ImplementationId> stepping_stones;
  std::int64_t promotions = 0; // without the root
  std::map<std::string, double> best_us;
  std::optional<search::StopReason> stop;
};

Result<Standing> read_standing(search::Search const& search) {
  search::State const& state = search.state();
  Standing standing;
  for (auto const& [id, implementation] : state.implementations)
    if (id != state.root) ++standing.verdicts[report::verdict_of(implementation)];
  standing.stepping_stones = report::stepping_stones(state);
  standing.promotions = std::max<std::int64_t>(0, static_cast<std::int64_t>(state.promotions.size()) - 1);
  standing.stop = search::should_stop(search.specification().stopping, state, state.audit_seconds);
  if (state.incumbent)
    if (auto const& audit = state.implementations.at(*state.incumbent).audit) {
      TIK_TRY(ir::Audit const record, search.store().audit(*audit));
      for (evaluator::WorkloadMeasurement const& workload : record.report.workloads)
        standing.best_us[workload.id] = workload.latency_us;
    }
  return standing;
}

template <class Ids>
Json ids_to_json(Ids const& ids) {
  Json list = Json::array();
  for (auto const& id : ids) list.push_back(to_string(id));
  return list;
}

template <class T>
Json optional_id(std::optional<T> const& id) {
  return id ? Json(to_string(*id)) : Json(nullptr);
}

Json to_json(search::Search const& search, Standing const& standing) {
  search::State const& state = search.state();
  spec::Specification const& specification = search.specification();
  Json json;
  json["schema"] = 1;
  json["name"] = specification.name;
  json["operator"] = specification.operator_name;
  json["target"] = specification.target;
  json["seal"] = search.identity().seal;
  json["audits"] = state.steps;
  json["promotions"] = standing.promotions;
  json["speedup"] = state.speedup();
  json["root"] = optional_id(state.root);
  json["incumbent"] = optional_id(state.incumbent);
  json["root_total_us"] = state.root_total_us;
  json["incumbent_total_us"] = state.incumbent_total_us;
  json["patience"] = {{"used", state.patience_used}, {"limit", specification.stopping.patience}};
  json["stopping"] = standing.stop ? Json(search::to_string(*standing.stop)) : Json(nullptr);
  Json verdicts = Json::object();
  for (auto const& [verdict, number] : standing.verdicts) verdicts[std::string(report::to_string(verdict))] = number;
  json["verdicts"] = std::move(verdicts);
  json["stepping_stones"] = ids_to_json(standing.stepping_stones);
  json["frontier"] = ids_to_json(state.frontier);
  json["archive"] = ids_to_json(state.archive);
  json["pending"] = ids_to_json(state.pending);
  json["awaiting_audit"] = optional_id(state.awaiting_audit);
  json["awaiting_decision"] = optional_id(state.awaiting_decision);
  json["unaudited"] = ids_to_json(state.unaudited);
  json["undecided"] = ids_to_json(state.undecided);
  json["audit_seconds"] = state.audit_seconds;
  json["model_tokens"] = state.model_tokens;
  auto const efficiency = report::efficiency(state.speedup(), state.model_tokens);
  json["efficiency"] = efficiency ? Json(*efficiency) : Json(nullptr);
  Json workloads = Json::array();
  for (spec::Workload const& workload : specification.workloads) {
    auto const baseline = search.identity().baseline_us.find(workload.id);
    auto const best = standing.best_us.find(workload.id);
    if (baseline == search.identity().baseline_us.end() || best == standing.best_us.end()) continue;
    workloads.push_back({{"id", workload.id},
                         {"root_us", baseline->second},
                         {"best_us", best->second},
                         {"limit_us", baseline->second * workload.max_slowdown}});
  }
  json["workloads"] = std::move(workloads);
  return json;
}

// At most `most` ids, then how many more there are.
template <class Ids>
std::string few_ids(Ids const& ids, std::size_t most) {
  std::vector<typename Ids::value_type> shown;
  for (auto const& id : ids)
    if (shown.size() < most) shown.push_back(id);
  std::string const rest = ids.size() > most ? fmt::format(" and {} more", ids.size() - most) : "";
  return report::id_list(shown) + rest;
}

std::string to_text(search::Search const& search, Standing const& standing, Console const& console) {
  search::State const& state = search.state();
  spec::Specification const& specification = search.specification();
  std::string text = fmt::format("{}  {} for {}, sealed {}\n", console.paint(specification.name, Paint::bold),
                                 specification.operator_name, specification.target, search.identity().seal.substr(0, 12));
  text += fmt::format("incumbent  {}, {} as fast as the root (T {} against {})\n",
                      state.incumbent ? to_string(*state.incumbent) : "none",
                      console.paint(report::ratio(state.speedup()), Paint::good), report::latency(state.incumbent_total_us),
                      report::latency(state.root_total_us));
  std::vector<std::string> verdicts;
  for (auto const& [verdict, number] : standing.verdicts)
    verdicts.push_back(fmt::format("{} {}", number, report::to_string(verdict)));
  text += fmt::format("audits     {}{}\n", state.steps, verdicts.empty() ? "" : ": " + report::join(verdicts, ", "));
  text += fmt::format("patience   {} of {}{}\n", state.patience_used, specification.stopping.patience,
                      standing.stop ? fmt::format("; the search has stopped ({})", search::to_string(*standing.stop)) : "");
  text += fmt::format("frontier   {}\n", few_ids(state.frontier, 12));
  text += fmt::format("archive    {}\n", few_ids(state.archive, 12));
  text += fmt::format("pending    {}\n", few_ids(state.pending, 12));
  if (!standing.stepping_stones.empty())
    text += fmt::format("stones     {} (never promoted, but a descendant was)\n", few_ids(standing.stepping_stones, 12));
  if (state.awaiting_audit) text += fmt::format("waiting    {} for an audit\n", few_ids(state.unaudited, 12));
  if (state.awaiting_decision) text += fmt::format("waiting    {} for a decision\n", few_ids(state.undecided, 12));
  if (auto const value = report::efficiency(state.speedup(), state.model_tokens))
    text += fmt::format("tokens     {}, {}\n", state.model_tokens, report::efficiency_words(*value));
  std::vector<std::vector<std::string>> rows = {{"workload", "root", "best", "root/best", "limit"}};
  for (spec::Workload const& workload : specification.workloads) {
    auto const baseline = search.identity().baseline_us.find(workload.id);
    auto const best = standing.best_us.find(workload.id);
    if (baseline == search.identity().baseline_us.end() || best == standing.best_us.end()) continue;
    rows.push_back({workload.id, report::latency(baseline->second), report::latency(best->second),
                    report::ratio(baseline->second / best->second), report::latency(baseline->second * workload.max_slowdown)});
  }
  return text + '\n' + report::text_table(rows, "lrrrr");
}

} // namespace

Result<int> execute(Status const& options, Console const& console) {
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  TIK_TRY(Standing const standing, read_standing(search));
  if (options.json)
    print_json(to_json(search, standing));
  else
    print(to_text(search, standing, console));
  return 0;
}

} // namespace tik::cli
