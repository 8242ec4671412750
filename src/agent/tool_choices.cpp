#include "src/agent/tool_choices.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tik::agent {
namespace {

constexpr std::size_t most_choices = 30; // a schema is sent with every request

// The newest of the ids, oldest first.
template <class Ids>
std::vector<std::string> newest(Ids const& ids) {
  std::vector<std::string> list;
  auto const skipped = ids.size() - std::min(ids.size(), most_choices);
  for (auto id = std::next(ids.begin(), static_cast<std::ptrdiff_t>(skipped)); id != ids.end(); ++id)
    list.push_back(to_string(*id));
  return list;
}

template <class Id, class Value>
std::set<Id> keys(std::map<Id, Value> const& map) {
  std::set<Id> ids;
  for (auto const& [id, value] : map) ids.insert(id);
  return ids;
}

using Choices = std::map<std::string, std::vector<std::string>>; // by the argument's name

void restrict(std::vector<Field>& fields, Choices const& choices) {
  for (Field& field : fields) {
    if (auto const found = choices.find(field.name); found != choices.end() && !found->second.empty())
      field.choices = found->second;
    restrict(field.fields, choices);
  }
}

Choices choices_of(View const& view) {
  search::State const& state = view.state;
  std::set<ir::ImplementationId> usable = state.frontier; // what an opportunity may apply to
  std::set<ir::ImplementationId> decided = state.frontier;
  std::vector<std::string> audit;
  if (state.awaiting_decision) {
    audit = {to_string(*state.awaiting_decision)};
    ir::ImplementationId const audited = state.audits.at(*state.awaiting_decision);
    decided.insert(audited);
    if (state.implementations.at(audited).verified) usable.insert(audited);
  }
  Choices choices = {
      {"opportunity", newest(state.pending)},   {"parents", newest(state.frontier)}, {"implementations", newest(usable)},
      {"evidence", newest(keys(state.audits))}, {"audit", std::move(audit)},         {"implementation", newest(decided)}};
  for (spec::Workload const& workload : view.specification.workloads) choices["workloads"].push_back(workload.id);
  return choices;
}

} // namespace

std::vector<Tool> with_choices(std::vector<Tool> tools, View const& view) {
  Choices const choices = choices_of(view);
  Choices reading = {{"audits", newest(keys(view.state.audits))},
                     {"implementation", newest(keys(view.state.implementations))},
                     {"from", newest(keys(view.state.implementations))}};
  reading["implementation"].push_back("draft");
  reading["to"] = reading["implementation"];
  for (Tool& tool : tools) restrict(tool.fields, tool.effect == Tool::Effect::reads ? reading : choices);
  return tools;
}

} // namespace tik::agent
