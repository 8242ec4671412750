#include "src/ir/store_schema.h"

#include <fmt/format.h>

#include <map>

namespace tik::ir {
namespace {

// One journal and, for each type of record, a narrow table of the columns that are queried.
//
// `record` holds every body in order of creation. Its sha256 covers the previous record's, so a changed, lost or inserted
// record shows. The narrow tables keep the fold fast: it never reads a page that holds a body.
//
// A record's links are inserted before its row in the narrow table, and that row closes the record: afterwards no link can be
// added to it. The foreign keys of links are therefore checked at the end of the transaction.
constexpr char const* tables = R"sql(
CREATE TABLE search (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  specification_text TEXT NOT NULL,
  specification_file TEXT NOT NULL,
  seal TEXT NOT NULL CHECK (length(seal) > 0),
  baseline_us TEXT NOT NULL CHECK (json_valid(baseline_us)),
  checks_version TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE record (
  sequence INTEGER PRIMARY KEY,
  type TEXT NOT NULL CHECK (type IN ('opportunity', 'withdrawal', 'implementation', 'action', 'audit', 'lineage_decision',
                                     'model_usage')),
  number INTEGER NOT NULL CHECK (number >= 0),
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  body TEXT NOT NULL CHECK (json_valid(body)),
  UNIQUE (type, number)
) STRICT;

CREATE TABLE opportunity (
  number INTEGER PRIMARY KEY CHECK (number >= 1),
  sequence INTEGER NOT NULL UNIQUE REFERENCES record (sequence),
  created_at TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('change', 'merge', 'reactivate')),
  origin INTEGER REFERENCES lineage_decision (number)
) STRICT;

CREATE TABLE opportunity_implementation (
  opportunity INTEGER NOT NULL REFERENCES opportunity (number) DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL CHECK (position >= 0),
  implementation INTEGER NOT NULL REFERENCES implementation (number),
  PRIMARY KEY (opportunity, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE opportunity_evidence (
  opportunity INTEGER NOT NULL REFERENCES opportunity (number) DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL CHECK (position >= 0),
  audit INTEGER NOT NULL REFERENCES audit (number),
  PRIMARY KEY (opportunity, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE withdrawal (
  number INTEGER PRIMARY KEY CHECK (number >= 1),
  sequence INTEGER NOT NULL UNIQUE REFERENCES record (sequence),
  created_at TEXT NOT NULL,
  opportunity INTEGER NOT NULL UNIQUE REFERENCES opportunity (number)
) STRICT;

CREATE TABLE implementation (
  number INTEGER PRIMARY KEY CHECK (number >= 0),
  sequence INTEGER NOT NULL UNIQUE REFERENCES record (sequence),
  created_at TEXT NOT NULL,
  commit_id TEXT NOT NULL UNIQUE CHECK (length(commit_id) = 40 AND NOT commit_id GLOB '*[^0-9a-f]*'),
  source_sha256 TEXT NOT NULL
) STRICT;
CREATE INDEX implementation_by_source ON implementation (source_sha256);

CREATE TABLE action (
  number INTEGER PRIMARY KEY CHECK (number >= 1),
  sequence INTEGER NOT NULL UNIQUE REFERENCES record (sequence),
  created_at TEXT NOT NULL,
  opportunity INTEGER NOT NULL REFERENCES opportunity (number),
  result INTEGER NOT NULL UNIQUE REFERENCES implementation (number) CHECK (result >= 1),
  form TEXT NOT NULL CHECK (form IN ('full-only', 'decode-only', 'joint'))
) STRICT;
CREATE INDEX action_by_opportunity ON action (opportunity);

CREATE TABLE action_parent (
  action INTEGER NOT NULL REFERENCES action (number) DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL CHECK (position BETWEEN 0 AND 1),
  implementation INTEGER NOT NULL REFERENCES implementation (number),
  PRIMARY KEY (action, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX action_by_parent ON action_parent (implementation);

CREATE TABLE audit (
  number INTEGER PRIMARY KEY CHECK (number >= 1),
  sequence INTEGER NOT NULL UNIQUE REFERENCES record (sequence),
  created_at TEXT NOT NULL,
  implementation INTEGER NOT NULL REFERENCES implementation (number),
  verified INTEGER NOT NULL CHECK (verified IN (0, 1)),
  measured INTEGER NOT NULL CHECK (measured IN (0, 1)),
  within_limits INTEGER NOT NULL CHECK (within_limits IN (0, 1) AND within_limits <= measured),
  total_us REAL CHECK (total_us > 0 AND total_us < 1e300),
  seconds REAL NOT NULL CHECK (seconds >= 0 AND seconds < 1e300),
  CHECK (measured = 0 OR total_us IS NOT NULL)
) STRICT;
CREATE INDEX audit_by_implementation ON audit (implementation);

CREATE TABLE lineage_decision (
  number INTEGER PRIMARY KEY CHECK (number >= 1),
  sequence INTEGER NOT NULL UNIQUE REFERENCES record (sequence),
  created_at TEXT NOT NULL,
  implementation INTEGER NOT NULL REFERENCES implementation (number),
  audit INTEGER NOT NULL REFERENCES audit (number),
  status TEXT NOT NULL CHECK (status IN ('continue', 'merge', 'archive', 'reactivate', 'abandon'))
) STRICT;
CREATE INDEX decision_by_implementation ON lineage_decision (implementation);
CREATE INDEX decision_by_audit ON lineage_decision (audit);

CREATE TABLE decision_evidence (
  decision INTEGER NOT NULL REFERENCES lineage_decision (number) DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL CHECK (position >= 0),
  audit INTEGER NOT NULL REFERENCES audit (number),
  PRIMARY KEY (decision, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE decision_follow_up (
  decision INTEGER NOT NULL REFERENCES lineage_decision (number) DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL CHECK (position >= 0),
  opportunity INTEGER NOT NULL UNIQUE REFERENCES opportunity (number) DEFERRABLE INITIALLY DEFERRED,
  PRIMARY KEY (decision, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE model_usage (
  number INTEGER PRIMARY KEY CHECK (number >= 1),
  sequence INTEGER NOT NULL UNIQUE REFERENCES record (sequence),
  created_at TEXT NOT NULL,
  action INTEGER REFERENCES action (number),
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0)
) STRICT;

CREATE TRIGGER search_once BEFORE INSERT ON search WHEN EXISTS (SELECT 1 FROM search)
BEGIN SELECT RAISE(ABORT, 'the identity of a search is written once'); END;

CREATE TRIGGER record_consecutive BEFORE INSERT ON record
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM record)
  OR EXISTS (SELECT 1 FROM record WHERE type = NEW.type AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'records are appended at the end of the journal'); END;
)sql";

struct LinkTable {
  char const* table;
  char const* owner;       // column
  char const* owner_table; // whose row closes the record
};
constexpr LinkTable link_tables[] = {{"opportunity_implementation", "opportunity", "opportunity"},
                                     {"opportunity_evidence", "opportunity", "opportunity"},
                                     {"action_parent", "action", "action"},
                                     {"decision_evidence", "decision", "lineage_decision"},
                                     {"decision_follow_up", "decision", "lineage_decision"}};

// Columns beside the number that are unique: INSERT OR REPLACE would silently delete the older row, so it is refused before.
struct UniqueColumn {
  char const* table;
  char const* column;
};
constexpr UniqueColumn unique_columns[] = {{"withdrawal", "opportunity"},
                                           {"implementation", "commit_id"},
                                           {"action", "result"},
                                           {"decision_follow_up", "opportunity"}};

// Links that a record cannot be without.
struct RequiredLink {
  char const* table;
  char const* link_table;
  char const* owner;
};
constexpr RequiredLink required_links[] = {{"opportunity", "opportunity_implementation", "opportunity"},
                                           {"opportunity", "opportunity_evidence", "opportunity"},
                                           {"action", "action_parent", "action"}};

std::string forbid_change(std::string_view table) {
  std::string sql;
  for (std::string_view const change : {"UPDATE", "DELETE"}) {
    sql += fmt::format(
        "CREATE TRIGGER {0}_no_{1} BEFORE {1} ON {0} BEGIN SELECT RAISE(ABORT, 'records are created, never changed'); END;\n",
        table, change);
  }
  return sql;
}

// A row of a narrow table continues its numbers and belongs to the journal's last entry of its type.
std::string consecutive(std::string_view table) {
  int const before_first = table == "implementation" ? -1 : 0;
  return fmt::format(
      "CREATE TRIGGER {0}_consecutive BEFORE INSERT ON {0}\n"
      "WHEN NEW.number IS NOT (SELECT coalesce(max(number), {1}) + 1 FROM {0})\n"
      "  OR EXISTS (SELECT 1 FROM {0} WHERE sequence = NEW.sequence)\n"
      "  OR NOT EXISTS (SELECT 1 FROM record WHERE sequence = NEW.sequence AND type = '{0}' AND number = NEW.number)\n"
      "BEGIN SELECT RAISE(ABORT, 'ids are consecutive and belong to their entry of the journal'); END;\n",
      table, before_first);
}

std::string closed(LinkTable const& link) {
  return fmt::format(
      "CREATE TRIGGER {0}_closed BEFORE INSERT ON {0}\n"
      "WHEN EXISTS (SELECT 1 FROM {2} WHERE number = NEW.{1})\n"
      "  OR EXISTS (SELECT 1 FROM {0} WHERE {1} = NEW.{1} AND position = NEW.position)\n"
      "BEGIN SELECT RAISE(ABORT, 'a record is complete: no link can be added to it'); END;\n",
      link.table, link.owner, link.owner_table);
}

std::string unique(UniqueColumn const& unique) {
  return fmt::format(
      "CREATE TRIGGER {0}_{1}_once BEFORE INSERT ON {0} WHEN EXISTS (SELECT 1 FROM {0} WHERE {1} = NEW.{1})\n"
      "BEGIN SELECT RAISE(ABORT, '{0}.{1} is there already'); END;\n",
      unique.table, unique.column);
}

std::string required(RequiredLink const& link) {
  return fmt::format(
      "CREATE TRIGGER {0}_needs_{1} BEFORE INSERT ON {0} WHEN NOT EXISTS (SELECT 1 FROM {1} WHERE {2} = NEW.number)\n"
      "BEGIN SELECT RAISE(ABORT, '{0} needs at least one {1}'); END;\n",
      link.table, link.link_table, link.owner);
}

std::map<std::string, std::string> schema_of(SQLite::Database& database) {
  std::map<std::string, std::string> statements;
  SQLite::Statement query(database, "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema");
  while (query.executeStep()) statements[query.getColumn(0).getString()] = query.getColumn(1).getString();
  return statements;
}

} // namespace

void create_schema(SQLite::Database& database) {
  std::string sql = tables;
  sql += forbid_change("search") + forbid_change("record");
  for (auto const* table : record_tables) sql += forbid_change(table) + consecutive(table);
  for (auto const& link : link_tables) sql += forbid_change(link.table) + closed(link);
  for (auto const& column : unique_columns) sql += unique(column);
  for (auto const& link : required_links) sql += required(link);
  database.exec(sql);
}

std::vector<std::string> schema_differences(SQLite::Database& database) {
  SQLite::Database expected_database(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  create_schema(expected_database);
  auto const expected = schema_of(expected_database);
  auto found = schema_of(database);
  std::vector<std::string> differences;
  for (auto const& [name, sql] : expected) {
    auto const entry = found.find(name);
    if (entry == found.end()) {
      differences.push_back(name + " is missing");
    } else if (entry->second != sql) {
      differences.push_back(name + " was changed");
    }
    if (entry != found.end()) found.erase(entry);
  }
  for (auto const& [name, sql] : found) {
    // ANALYZE adds statistics, which rule nothing.
    if (name.rfind("table sqlite_stat", 0) != 0) differences.push_back(name + " was added");
  }
  return differences;
}

} // namespace tik::ir
