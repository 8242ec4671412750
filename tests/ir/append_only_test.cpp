// The database itself keeps the records: what raw SQL over a second connection can do to them is tried here.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "src/ir/store_schema.h"
#include "tests/ir/sample_records.h"

namespace tik::ir {
namespace {

using ::testing::HasSubstr;

// A store with at least one row in every table, and a foreign connection to it that sets nothing but foreign keys.
struct AppendOnlyTest : ::testing::Test {
  AppendOnlyTest() {
    auto store = sample_store(file);
    value(store.append(sample_action({1}, {{0}}), sample_implementation(1)));
    value(store.append(sample_audit({1}), true, false, 120.0));
    ModelUsage usage;
    usage.action = ActionId{1};
    usage.input_tokens = 3;
    value(store.append(usage));
    value(store.append(sample_opportunity({0}, {2})));
    value(store.append(Withdrawal{{2}, "why", ""}));
    value(store.append(sample_decision({0}, {2}), {sample_opportunity({0}, {2})}));
    raw = std::make_unique<SQLite::Database>(file.string(), SQLite::OPEN_READWRITE);
    raw->exec("PRAGMA foreign_keys = ON");
    before = content();
  }

  std::string content() {
    std::string all;
    SQLite::Statement tables(*raw, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
    while (tables.executeStep()) {
      SQLite::Statement rows(*raw, "SELECT * FROM " + tables.getColumn(0).getString());
      while (rows.executeStep()) {
        for (int i = 0; i < rows.getColumnCount(); ++i) all += rows.getColumn(i).getString() + "|";
        all += "\n";
      }
    }
    return all;
  }

  // What the database answers; "done" when it obeys.
  std::string answer(std::string const& sql) {
    try {
      raw->exec(sql);
      return "done";
    } catch (SQLite::Exception const& exception) {
      if (sqlite3_get_autocommit(raw->getHandle()) == 0) raw->exec("ROLLBACK");
      return exception.what();
    }
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "search.db";
  std::unique_ptr<SQLite::Database> raw;
  std::string before;
};

std::vector<std::string> const all_tables = {"search",
                                             "record",
                                             "opportunity",
                                             "opportunity_implementation",
                                             "opportunity_evidence",
                                             "withdrawal",
                                             "implementation",
                                             "action",
                                             "action_parent",
                                             "audit",
                                             "lineage_decision",
                                             "decision_evidence",
                                             "decision_follow_up",
                                             "model_usage"};

TEST_F(AppendOnlyTest, EveryTableHasARowToAttack) {
  for (auto const& table : all_tables) EXPECT_GT(raw->execAndGet("SELECT count(*) FROM " + table).getInt(), 0) << table;
}

TEST_F(AppendOnlyTest, NoTableCanBeUpdated) {
  for (auto const& table : all_tables) {
    SQLite::Statement columns(*raw, "SELECT name FROM pragma_table_info('" + table + "')");
    while (columns.executeStep()) {
      auto const column = columns.getColumn(0).getString();
      EXPECT_THAT(answer("UPDATE " + table + " SET " + column + " = " + column), HasSubstr("created, never changed"))
          << table << column;
    }
  }
  EXPECT_EQ(content(), before);
}

TEST_F(AppendOnlyTest, NoTableCanBeDeletedFrom) {
  for (auto const& table : all_tables)
    EXPECT_THAT(answer("DELETE FROM " + table), HasSubstr("created, never changed")) << table;
  EXPECT_EQ(content(), before);
}

TEST_F(AppendOnlyTest, NoRowCanBeReplaced) {
  for (auto const& table : all_tables) {
    EXPECT_NE(answer("REPLACE INTO " + table + " SELECT * FROM " + table), "done") << table;
    EXPECT_NE(answer("INSERT OR REPLACE INTO " + table + " SELECT * FROM " + table + " LIMIT 1"), "done") << table;
    EXPECT_NE(answer("INSERT INTO " + table + " SELECT * FROM " + table + " LIMIT 1 ON CONFLICT DO UPDATE SET rowid = rowid"),
              "done")
        << table;
  }
  EXPECT_EQ(content(), before);
}

TEST_F(AppendOnlyTest, AUniqueValueCannotBeReplacedUnderANewId) {
  std::string const body = "'" + std::string(64, 'a') + "', '{}')";
  auto const next = std::to_string(raw->execAndGet("SELECT max(sequence) + 1 FROM record").getInt());
  EXPECT_NE(answer("BEGIN; INSERT INTO record VALUES (" + next + ", 'implementation', 2, " + body +
                   "; REPLACE INTO implementation SELECT 2, " + next +
                   ", created_at, commit_id, source_sha256 FROM implementation WHERE number = 1; COMMIT"),
            "done");
  EXPECT_NE(answer("BEGIN; INSERT INTO record VALUES (" + next + ", 'action', 2, " + body +
                   "; INSERT INTO action_parent VALUES (2, 0, 0); REPLACE INTO action SELECT 2, " + next +
                   ", created_at, opportunity, result, form FROM action WHERE number = 1; COMMIT"),
            "done");
  EXPECT_NE(answer("BEGIN; INSERT INTO record VALUES (" + next + ", 'audit', 3, " + body +
                   "; REPLACE INTO audit SELECT 3, sequence, created_at, implementation, verified, "
                   "measured, within_limits, total_us, seconds FROM audit WHERE number = 1; COMMIT"),
            "done");
  EXPECT_NE(answer("REPLACE INTO record SELECT " + next + ", type, number, sha256, body FROM record WHERE sequence = 1"),
            "done");
  EXPECT_EQ(content(), before);
}

TEST_F(AppendOnlyTest, NoTableCanBeDropped) {
  // Tables that others refer to. SQLite fires no trigger for DROP, so the rest is noticed when the store is opened: see below.
  for (auto const* table : {"record", "opportunity", "implementation", "action", "audit", "lineage_decision"})
    EXPECT_NE(answer(std::string("DROP TABLE ") + table), "done") << table;
  EXPECT_EQ(content(), before);
}

TEST_F(AppendOnlyTest, ADroppedRuleIsNoticedWhenTheStoreIsOpened) {
  for (auto const* sql :
       {"DROP TRIGGER audit_no_UPDATE", "DROP INDEX audit_by_implementation", "DROP TABLE model_usage",
        "CREATE TRIGGER sneaky AFTER INSERT ON audit BEGIN SELECT 1; END", "ALTER TABLE search ADD COLUMN more TEXT"}) {
    SCOPED_TRACE(sql);
    auto const copy = folder.path() / "copy.db";
    std::filesystem::remove(copy);
    raw->exec("VACUUM INTO '" + copy.string() + "'");
    {
      SQLite::Database attacked(copy.string(), SQLite::OPEN_READWRITE);
      EXPECT_EQ(attacked.execAndGet("PRAGMA application_id").getInt(), application_id);
      attacked.exec(sql);
    }
    auto const opened = Store::open(copy, Store::Mode::read_only);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, ErrorKind::damage);
    EXPECT_THAT(opened.error().message, HasSubstr("the rules of the database were changed"));
  }
}

TEST_F(AppendOnlyTest, LinksCannotBeAddedToARecord) {
  EXPECT_THAT(answer("INSERT INTO opportunity_implementation VALUES (1, 1, 1)"), HasSubstr("no link can be added"));
  EXPECT_THAT(answer("INSERT INTO opportunity_evidence VALUES (1, 1, 2)"), HasSubstr("no link can be added"));
  EXPECT_THAT(answer("INSERT INTO action_parent VALUES (1, 1, 1)"), HasSubstr("no link can be added"));
  EXPECT_THAT(answer("INSERT INTO decision_evidence VALUES (1, 1, 2)"), HasSubstr("no link can be added"));
  EXPECT_THAT(answer("INSERT INTO decision_follow_up VALUES (1, 7, 2)"), HasSubstr("no link can be added"));
}

TEST_F(AppendOnlyTest, LinksWithoutTheirRecordDoNotSurviveTheTransaction) {
  EXPECT_THAT(answer("INSERT INTO opportunity_implementation VALUES (9, 0, 0)"), HasSubstr("FOREIGN KEY"));
  EXPECT_THAT(answer("INSERT INTO action_parent VALUES (9, 0, 0)"), HasSubstr("FOREIGN KEY"));
  EXPECT_EQ(content(), before);
}

TEST_F(AppendOnlyTest, LinksToMissingRecordsAreRefused) {
  auto const next = std::to_string(raw->execAndGet("SELECT max(sequence) + 1 FROM record").getInt());
  auto const journal = "BEGIN; INSERT INTO record VALUES (" + next + ", '%', 3, '" + std::string(64, 'a') + "', '{}'); ";
  auto const with_type = [&](std::string const& type) { return std::string(journal).replace(journal.find('%'), 1, type); };
  EXPECT_THAT(answer(with_type("audit") + "INSERT INTO audit VALUES (3, " + next + ", 't', 99, 1, 0, 0, NULL, 1.0); COMMIT"),
              HasSubstr("FOREIGN KEY"));
  EXPECT_THAT(answer(with_type("lineage_decision") + "INSERT INTO lineage_decision VALUES (3, " + next +
                     ", 't', 0, 99, 'continue'); COMMIT"),
              HasSubstr("FOREIGN KEY"));
  EXPECT_EQ(content(), before);
}

TEST_F(AppendOnlyTest, RowsWithoutTheirJournalEntryAreRefused) {
  EXPECT_THAT(answer("INSERT INTO audit VALUES (3, 99, 't', 0, 1, 0, 0, NULL, 1.0)"), HasSubstr("consecutive"));
  EXPECT_THAT(answer("INSERT INTO audit VALUES (7, 1, 't', 0, 1, 0, 0, NULL, 1.0)"), HasSubstr("consecutive"));
  EXPECT_THAT(answer("INSERT INTO record VALUES (77, 'audit', 3, '" + std::string(64, 'a') + "', '{}')"),
              HasSubstr("end of the journal"));
  EXPECT_THAT(answer("INSERT INTO record SELECT NULL, 'audit', 3, sha256, body FROM record LIMIT 1"),
              HasSubstr("end of the journal"));
}

TEST_F(AppendOnlyTest, ValuesOutOfRangeAreRefused) {
  auto const next = std::to_string(raw->execAndGet("SELECT max(sequence) + 1 FROM record").getInt());
  auto const journal = "BEGIN; INSERT INTO record VALUES (" + next + ", 'audit', 3, '" + std::string(64, 'a') +
                       "', '{}'); INSERT INTO audit VALUES (3, " + next + ", 't', 0, ";
  for (auto const* values : {"2, 0, 0, NULL, 1.0", "1, 0, 1, 5.0, 1.0", "1, 1, 0, NULL, 1.0", "1, 1, 1, -5.0, 1.0",
                             "1, 1, 1, 9e999, 1.0", "1, 1, 1, 5.0, -1.0", "'yes', 0, 0, NULL, 1.0"})
    EXPECT_NE(answer(journal + values + "); COMMIT"), "done") << values;
  EXPECT_NE(answer("INSERT INTO record VALUES (" + next + ", 'gossip', 1, '" + std::string(64, 'a') + "', '{}')"), "done");
  EXPECT_NE(answer("INSERT INTO record VALUES (" + next + ", 'audit', 3, '" + std::string(64, 'a') + "', 'not json')"), "done");
  EXPECT_EQ(content(), before);
}

TEST_F(AppendOnlyTest, TheStoreCountsOnFromWhereItWas) {
  EXPECT_NE(answer("DELETE FROM opportunity"), "done");
  auto store = value(Store::open(file, Store::Mode::read_write));
  EXPECT_EQ(value(store.append(sample_opportunity({0}, {2}))).id.number, 4);
}

TEST_F(AppendOnlyTest, ANewerSchemaIsRefusedWithASentence) {
  raw->exec("PRAGMA user_version = 2");
  auto const opened = Store::open(file, Store::Mode::read_write);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::input);
  EXPECT_THAT(opened.error().message, HasSubstr("newer version of tik"));
}

TEST_F(AppendOnlyTest, ADatabaseOfSomethingElseIsRefused) {
  raw->exec("PRAGMA application_id = 7");
  auto const opened = Store::open(file, Store::Mode::read_write);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("is not the database of a search"));
}

} // namespace
} // namespace tik::ir
