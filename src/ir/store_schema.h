// The tables of a search's database, and what the database itself refuses.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <vector>

namespace tik::ir {

// "TIK1" in the file's header: what `file search.db` and a foreign tool see.
inline constexpr int application_id = 0x54494b31;
// PRAGMA user_version. A newer program may add one; this one refuses what it does not know.
inline constexpr int schema_version = 1;

// The types of records, as the column record.type holds them; their tables have the same names.
inline constexpr char const* record_tables[] = {"opportunity", "withdrawal",       "implementation", "action",
                                                "audit",       "lineage_decision", "model_usage"};

// Creates every table, index and trigger in an empty database.
void create_schema(SQLite::Database& database);

// The names of tables, indexes and triggers that are missing, added or different from what create_schema makes: somebody
// changed the rules of the store. Empty when all is as it should be.
std::vector<std::string> schema_differences(SQLite::Database& database);

} // namespace tik::ir
