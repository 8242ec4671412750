#include "src/cli/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/ir/any_id.h"
#include "src/report/format.h"
#include "src/spec/table_reader.h"

namespace tik::cli {
namespace {

constexpr std::size_t longest_words = 8000, longest_name = 200, most_items = 100, most_records = 100;

// A value of a key that is wrong in itself is reported at the key's line; the fallback lets the reader go on.
template <class T>
T checked(spec::TableReader& reader, std::string_view key, Result<T> result, T fallback = {}) {
  if (result) return *std::move(result);
  reader.report(key, result.error().message);
  return fallback;
}

template <char L>
ir::Id<L> read_id(spec::TableReader& reader, std::string_view key) {
  return checked<ir::Id<L>>(reader, key, ir::parse_id<L>(reader.text(key, longest_name)));
}

template <char L>
std::vector<ir::Id<L>> read_ids(spec::TableReader& reader, std::string_view key, bool may_be_empty) {
  return checked<std::vector<ir::Id<L>>>(reader, key,
                                         ir::parse_ids<L>(reader.texts(key, longest_name, most_items, may_be_empty)));
}

ir::Opportunity read_follow_up(spec::TomlNode const& node, std::string const& name, spec::Diagnosis& diagnosis) {
  spec::TableReader reader(
      node, name, {"kind", "mechanism", "note", "workloads", "entry_points", "evidence", "implementations"}, diagnosis);
  agent::OpportunityWords words;
  words.kind = reader.text("kind", longest_name, "change");
  words.mechanism = reader.text("mechanism", longest_words);
  words.note = reader.text("note", longest_words, "");
  words.workloads = reader.texts("workloads", longest_name, most_items, true);
  words.entry_points = reader.texts("entry_points", longest_name, 2, true);
  words.evidence = reader.texts("evidence", longest_name, most_items);
  words.implementations = reader.texts("implementations", longest_name, most_items);
  if (diagnosis.failed()) return {};
  return checked(reader, "mechanism", agent::make_opportunity(words));
}

agent::DecisionDraft read_decision(spec::TomlNode const& node, std::string const& name, spec::Diagnosis& diagnosis) {
  spec::TableReader reader(node, name, {"implementation", "status", "interpretation", "reason", "evidence", "follow_ups"},
                           diagnosis);
  agent::DecisionDraft draft;
  draft.implementation = read_id<'I'>(reader, "implementation");
  draft.status =
      checked(reader, "status", ir::branch_status_from(reader.text("status", longest_name)), ir::BranchStatus::continued);
  draft.interpretation = reader.text("interpretation", longest_words);
  draft.reason = reader.text("reason", longest_words);
  draft.evidence = read_ids<'U'>(reader, "evidence", true);
  reader.tables("follow_ups", most_records, [&](spec::TomlNode const& follow_up, std::string const& place) {
    draft.follow_ups.push_back(read_follow_up(follow_up, place, diagnosis));
  });
  return draft;
}

} // namespace

std::string action_template(ir::Opportunity const& opportunity, std::vector<ir::ImplementationId> const& parents,
                            spec::Specification const& specification) {
  auto const contains = [](auto const& list, auto const& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  std::vector<std::string> quoted_parents, known, aimed_at;
  for (ir::ImplementationId const parent : parents) quoted_parents.push_back('"' + to_string(parent) + '"');
  for (spec::Workload const& workload : specification.workloads) {
    known.push_back(workload.id);
    if (contains(opportunity.workloads, workload.id) || contains(opportunity.entry_points, workload.entry_point()))
      aimed_at.push_back('"' + workload.id + '"');
  }
  return fmt::format(
      "# The words of an action. Edit the sources beside this file in source/, fill in the words, then: tik act submit\n"
      "#\n"
      "# {}: {}\n"
      "opportunity = \"{}\"\n"
      "parents = [{}]\n\n"
      "# What is changed, and what is left alone.\n"
      "scope = \"\"\n\n"
      "# What the change should do to the work of the hardware.\n"
      "expected_effect = \"\"\n\n"
      "# The measurement that would show this to be wrong.\n"
      "contradiction = \"\"\n\n"
      "# Workloads and kernel variants aimed at. Workloads: {}.\n"
      "workloads = [{}]\n"
      "variants = []\n\n"
      "# Where the bits of the entry points could part: one table for each risk, without the leading #.\n"
      "# Classes: reduction-order, scaling-masking, transcendentals, conversion-rescaling.\n"
      "# [[risks]]\n"
      "# class = \"reduction-order\"\n"
      "# note = \"both paths include the same header\"\n",
      to_string(opportunity.id), report::one_line(opportunity.mechanism, 0), to_string(opportunity.id),
      report::join(quoted_parents, ", "), report::join(known, ", "), report::join(aimed_at, ", "));
}

Result<agent::ActionDraft> read_action(std::filesystem::path const& file) {
  TIK_TRY(std::string const text, spec::read_document(file));
  TIK_TRY(spec::TomlNode const root, spec::parse_document(text, file.string()));
  spec::Diagnosis diagnosis(file.string());
  spec::TableReader reader(
      root, "", {"opportunity", "parents", "scope", "expected_effect", "contradiction", "workloads", "variants", "risks"},
      diagnosis);
  agent::ActionDraft draft;
  draft.opportunity = read_id<'O'>(reader, "opportunity");
  draft.parents = read_ids<'I'>(reader, "parents", false);
  draft.scope = reader.text("scope", longest_words);
  draft.expected_effect = reader.text("expected_effect", longest_words);
  draft.contradiction = reader.text("contradiction", longest_words);
  draft.workloads = reader.texts("workloads", longest_name, most_items);
  draft.variants = reader.texts("variants", longest_name, most_items, true);
  reader.tables("risks", most_records, [&](spec::TomlNode const& node, std::string const& name) {
    spec::TableReader risk(node, name, {"class", "note"}, diagnosis);
    auto const known = spec::numerical_class_from(risk.text("class", longest_name));
    draft.risks.push_back(
        {checked(risk, "class", known, spec::NumericalClass::reduction_order), risk.text("note", longest_words)});
  });
  if (diagnosis.failed()) return tl::unexpected(diagnosis.error());
  return draft;
}

Result<agent::ManagementDraft> read_decisions(std::filesystem::path const& file) {
  TIK_TRY(std::string const text, spec::read_document(file));
  TIK_TRY(spec::TomlNode const root, spec::parse_document(text, file.string()));
  spec::Diagnosis diagnosis(file.string());
  spec::TableReader reader(root, "", {"decisions", "withdrawals"}, diagnosis);
  agent::ManagementDraft draft;
  reader.tables("decisions", most_records, [&](spec::TomlNode const& node, std::string const& name) {
    draft.decisions.push_back(read_decision(node, name, diagnosis));
  });
  reader.tables("withdrawals", most_records, [&](spec::TomlNode const& node, std::string const& name) {
    spec::TableReader withdrawal(node, name, {"opportunity", "reason"}, diagnosis);
    ir::OpportunityId const opportunity = read_id<'O'>(withdrawal, "opportunity");
    draft.withdrawals.push_back({opportunity, withdrawal.text("reason", longest_words), ""});
  });
  if (diagnosis.failed()) return tl::unexpected(diagnosis.error());
  return draft;
}

} // namespace tik::cli
