#include "src/agent/tool_choices.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/search/reach.h"
#include "src/search/rules.h"

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

// Which branches a decision may be about, and what it may say of them, were all audits its evidence.
void add_decisions(search::State const& state, ir::AuditId audit, Choices& choices) {
  std::set<ir::ImplementationId> known = state.frontier;
  known.insert(state.archive.begin(), state.archive.end());
  known.insert(state.audits.at(audit));
  std::set<ir::AuditId> const audits = keys(state.audits);
  std::set<ir::ImplementationId> decided;
  using Status = ir::BranchStatus;
  for (Status const status : {Status::continued, Status::merge, Status::archived, Status::reactivated, Status::abandoned}) {
    bool allowed = false;
    for (ir::ImplementationId const id : known) {
      if (!search::may_decide(state, audit, {id, "-", status, "-", {audits.begin(), audits.end()}, {}})) continue;
      allowed = true;
      decided.insert(id);
    }
    if (allowed) choices["status"].emplace_back(ir::to_string(status));
  }
  choices["implementation"] = newest(decided);
}

// A decision without `implementation` is about the audited one. Where the rules allow that one no status, another is named.
void require_implementation(std::vector<Field>& fields) {
  for (Field& field : fields) {
    if (field.name == "implementation") field.required = true;
    if (field.name == "decisions") require_implementation(field.fields);
  }
}

void restrict(std::vector<Field>& fields, Choices const& choices) {
  for (Field& field : fields) {
    if (auto const found = choices.find(field.name); found != choices.end() && !found->second.empty())
      field.choices = found->second;
    restrict(field.fields, choices);
  }
}

Choices for_reading(search::State const& state) {
  Choices choices = {{"audits", newest(keys(state.audits))},
                     {"implementation", newest(keys(state.implementations))},
                     {"from", newest(keys(state.implementations))}};
  choices["implementation"].push_back("draft");
  choices["to"] = choices["implementation"];
  return choices;
}

Choices for_edits(search::State const& state, std::vector<std::string> const& draft_files) {
  Choices choices = {{"opportunity", newest(search::within_reach(state))}, {"parents", newest(state.frontier)}};
  if (draft_files.size() <= most_choices) choices["file"] = draft_files;
  return choices;
}

Choices for_records(View const& view) {
  search::State const& state = view.state;
  std::set<ir::ImplementationId> usable = state.frontier; // what an opportunity may apply to
  Choices choices = {{"opportunity", newest(state.pending)}, {"evidence", newest(keys(state.audits))}};
  if (state.awaiting_decision) {
    ir::ImplementationId const audited = state.audits.at(*state.awaiting_decision);
    if (state.implementations.at(audited).verified) usable.insert(audited);
    choices["audit"] = {to_string(*state.awaiting_decision)};
    add_decisions(state, *state.awaiting_decision, choices);
  }
  choices["implementations"] = newest(usable);
  for (spec::Workload const& workload : view.specification.workloads) choices["workloads"].push_back(workload.id);
  return choices;
}

} // namespace

std::vector<Tool> with_choices(std::vector<Tool> tools, View const& view, std::vector<std::string> const& draft_files) {
  std::map<Tool::Effect, Choices> const choices = {{Tool::Effect::reads, for_reading(view.state)},
                                                   {Tool::Effect::edits, for_edits(view.state, draft_files)},
                                                   {Tool::Effect::records, for_records(view)}};
  bool audited_takes_no_status = false;
  if (std::optional<ir::AuditId> const audit = view.state.awaiting_decision) {
    std::vector<std::string> const& decided = choices.at(Tool::Effect::records).at("implementation");
    audited_takes_no_status =
        std::find(decided.begin(), decided.end(), to_string(view.state.audits.at(*audit))) == decided.end();
  }
  for (Tool& tool : tools) {
    restrict(tool.fields, choices.at(tool.effect));
    if (audited_takes_no_status && tool.name == "decide") require_implementation(tool.fields);
    if (tool.name == "edit") tool.ways = {{"file", "find", "replace"}, {"file", "content"}, {"diff"}, {"file", "remove"}};
  }
  return tools;
}

} // namespace tik::agent
