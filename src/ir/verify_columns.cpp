#include <fmt/format.h>

#include "src/ir/store_journal.h"
#include "src/ir/verify_context.h"

namespace tik::ir {
namespace {

// Where a type's columns are, and its links in the order of their positions.
struct Selection {
  RecordType type;
  char const* columns;
  std::vector<char const*> links; // one query each
};

std::vector<Selection> selections() {
  return {{opportunity_type,
           "created_at, kind, origin",
           {"SELECT implementation FROM opportunity_implementation WHERE opportunity = ? ORDER BY position",
            "SELECT audit FROM opportunity_evidence WHERE opportunity = ? ORDER BY position"}},
          {withdrawal_type, "created_at, opportunity", {}},
          {implementation_type, "created_at, commit_id, source_sha256", {}},
          {action_type,
           "created_at, opportunity, result, form",
           {"SELECT implementation FROM action_parent WHERE action = ? ORDER BY position"}},
          {audit_type, "created_at, implementation, verified, measured, total_us, seconds", {}},
          {decision_type,
           "created_at, implementation, audit, status",
           {"SELECT audit FROM decision_evidence WHERE decision = ? ORDER BY position",
            "SELECT opportunity FROM decision_follow_up WHERE decision = ? ORDER BY position"}},
          {usage_type, "created_at, action, input_tokens, output_tokens", {}}};
}

std::string text_of(SQLite::Column const& column) {
  return column.isFloat() ? fmt::format("{}", column.getDouble()) : column.isNull() ? std::string() : column.getString();
}

std::string links_of(Statement& query, std::int64_t owner) {
  query.reset();
  query.bind(1, owner);
  std::string links;
  while (query.executeStep()) {
    if (!links.empty()) links += ',';
    links += query.getColumn(0).getString();
  }
  return links;
}

void compare(Connection const& connection, Selection const& selection, VerifyContext& context) {
  auto& expected = context.expected[selection.type.table];
  std::vector<Statement> link_queries;
  for (auto const* sql : selection.links) link_queries.push_back(connection.statement(sql));
  auto rows =
      connection.statement(fmt::format("SELECT number, {} FROM {} ORDER BY number", selection.columns, selection.type.table));
  while (rows.executeStep()) {
    std::int64_t const number = rows.getColumn(0).getInt64();
    auto const place = fmt::format("{}{}", selection.type.letter, number);
    Columns found;
    for (int i = 1; i < rows.getColumnCount(); ++i) found.push_back(text_of(rows.getColumn(i)));
    for (auto& query : link_queries) found.push_back(links_of(query, number));
    auto const entry = expected.find(number);
    if (entry == expected.end()) {
      context.find(place, "is in its table, but not readable in the journal.");
    } else {
      if (entry->second != found) context.find(place, "its columns or links say something else than its body.");
      expected.erase(entry);
    }
  }
  for (auto const& [number, columns] : expected)
    context.find(fmt::format("{}{}", selection.type.letter, number), "is in the journal, but missing from its table.");
}

} // namespace

void verify_columns(Connection const& connection, VerifyContext& context) {
  for (auto const& selection : selections()) {
    // Without the specification nobody knows which latencies are complete; that it is unreadable is a finding already.
    bool const needs_specification = std::string_view(selection.type.table) == audit_type.table;
    if (!needs_specification || context.specification) compare(connection, selection, context);
  }
}

} // namespace tik::ir
