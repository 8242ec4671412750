#include "src/agent/tool_choices.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/agent/tokens.h"
#include "src/search/reach.h"
#include "src/search/rules.h"

namespace tik::agent {
namespace {

constexpr std::size_t most_choices = 30;    // a schema is sent with every request
constexpr std::size_t largest_bound = 2000; // servers that make a grammar of a schema refuse larger ones

// The newest of the ids, oldest first.
template <class Ids>
std::vector<std::string> newest(Ids const& ids, std::size_t most = most_choices) {
  std::vector<std::string> list;
  auto const skipped = ids.size() - std::min(ids.size(), most);
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

// A decision without `implementation` is about the audited one. When that one failed, most statuses are those of another.
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
    // Each object of a list is about another one.
    for (Field const& part : field.fields)
      if ((part.name == "implementation" || part.name == "opportunity" || part.name == "class") && !part.choices.empty())
        field.most = part.choices.size();
  }
}

// The list where it is short enough to be sent; else any name may be given.
std::vector<std::string> if_few(std::vector<std::string> const& names) {
  return names.size() <= most_choices ? names : std::vector<std::string>{};
}

Choices for_reading(search::State const& state, Inventory const& inventory) {
  Choices choices = {{"audits", newest(keys(state.audits))},
                     {"implementation", newest(keys(state.implementations))},
                     {"from", newest(keys(state.implementations))},
                     {"file", if_few(inventory.readable_files)}};
  std::set<ir::ActionId> actions;
  for (auto const& [id, implementation] : state.implementations)
    if (implementation.action) actions.insert(*implementation.action);
  std::set<ir::LineageId> decisions;
  std::size_t const share = most_choices / 5; // of each type
  for (std::int64_t number = inventory.decisions; number > 0 && decisions.size() < share; --number)
    decisions.insert(ir::LineageId{number});
  for (auto const& ids : {newest(keys(state.implementations), share), newest(keys(state.opportunities), share),
                          newest(actions, share), newest(keys(state.audits), share), newest(decisions, share)})
    choices["ids"].insert(choices["ids"].end(), ids.begin(), ids.end());
  choices["linked_to"] = choices["ids"];
  if (!inventory.draft_files.empty()) choices["implementation"].push_back("draft");
  choices["to"] = choices["implementation"];
  return choices;
}

// Active implementations that an opportunity within reach names: one of them is a parent of every action.
std::set<ir::ImplementationId> named_parents(search::State const& state) {
  std::set<ir::ImplementationId> named;
  for (ir::OpportunityId const id : search::within_reach(state))
    for (ir::ImplementationId const implementation : state.opportunities.at(id).implementations)
      if (state.frontier.contains(implementation)) named.insert(implementation);
  return named;
}

Choices for_edits(search::State const& state, Inventory const& inventory) {
  return {{"opportunity", newest(search::within_reach(state))},
          {"parents", newest(named_parents(state))},
          {"file", if_few(inventory.draft_files)},
          {"change", if_few(inventory.changes)}};
}

Choices for_records(View const& view, Inventory const& inventory) {
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
  choices["variants"] = if_few(inventory.variants);
  return choices;
}

// Texts that a call writes freely, one for each that it needs.
std::size_t free_texts(std::vector<Field> const& fields) {
  std::size_t count = 0;
  for (Field const& field : fields) {
    if (!field.required) continue;
    bool const text = field.type == Field::Type::text || field.type == Field::Type::texts;
    count += text && field.choices.empty() ? 1 : free_texts(field.fields);
  }
  return count;
}

std::vector<Field> fields_of_way(Tool const& tool, std::vector<std::string> const& way) {
  std::vector<Field> fields;
  for (Field field : tool.fields) {
    if (std::find(way.begin(), way.end(), field.name) == way.end()) continue;
    field.required = true;
    fields.push_back(std::move(field));
  }
  return fields;
}

void bound_texts(std::vector<Field>& fields, std::size_t longest) {
  for (Field& field : fields) {
    field.longest = longest <= largest_bound ? longest : 0;
    bound_texts(field.fields, longest);
  }
}

void keep_required(std::vector<Field>& fields, std::set<std::string> const& needed) {
  std::erase_if(fields, [&](Field const& field) { return !field.required && !needed.contains(field.name); });
  for (Field& field : fields) {
    if (field.type == Field::Type::objects) field.most = 1;
    keep_required(field.fields, {});
  }
}

} // namespace

void fit_answer(std::vector<Tool>& tools, std::int64_t answer_tokens) {
  auto const bytes = static_cast<std::size_t>(answer_tokens) * model_bytes_a_token;
  // The names and marks of a call are reckoned as one text more.
  auto const share = [&](std::vector<Field> const& fields) {
    return std::max<std::size_t>(1, bytes / (free_texts(fields) + 1));
  };
  for (Tool& tool : tools) {
    bound_texts(tool.fields, share(tool.fields));
    for (std::vector<std::string> const& way : tool.ways) {
      std::size_t const longest = share(fields_of_way(tool, way));
      for (Field& field : tool.fields)
        if (std::find(way.begin(), way.end(), field.name) != way.end()) field.longest = longest <= largest_bound ? longest : 0;
    }
  }
}

void abridge(std::vector<Tool>& tools) {
  for (Tool& tool : tools) {
    std::set<std::string> needed;
    for (std::vector<std::string> const& way : tool.ways) needed.insert(way.begin(), way.end());
    keep_required(tool.fields, needed);
  }
}

std::vector<Tool> with_choices(std::vector<Tool> tools, View const& view, Inventory const& inventory) {
  std::map<Tool::Effect, Choices> const choices = {{Tool::Effect::reads, for_reading(view.state, inventory)},
                                                   {Tool::Effect::edits, for_edits(view.state, inventory)},
                                                   {Tool::Effect::records, for_records(view, inventory)}};
  std::optional<ir::AuditId> const audit = view.state.awaiting_decision;
  bool const failed = audit && !view.state.implementations.at(view.state.audits.at(*audit)).verified;
  for (Tool& tool : tools) {
    restrict(tool.fields, choices.at(tool.effect));
    bool const pending = !view.state.pending.empty();
    std::erase_if(tool.fields, [&](Field const& field) { return field.name == "withdrawals" && !pending; });
    if (failed && tool.name == "decide") require_implementation(tool.fields);
    if (tool.name == "edit") tool.ways = {{"file", "find", "replace"}, {"file", "content"}, {"diff"}, {"file", "remove"}};
  }
  return tools;
}

} // namespace tik::agent
