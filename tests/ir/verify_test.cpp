// Damage of every kind is found and named; an undamaged search has no finding.
#include "src/ir/verify.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <fstream>

#include "tests/ir/sample_search.h"

namespace tik::ir {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct VerifyTest : ::testing::Test {
  TemporaryFolder folder;
  SampleSearch search{folder.path()};

  Verification verified() { return value(verify(search.database(), search.repository())); }

  std::vector<std::string> findings() {
    std::vector<std::string> texts;
    for (auto const& finding : verified().findings) texts.push_back(finding.place + ": " + finding.sentence);
    return texts;
  }

  // The file of the blob of full.cpp in the tree with this content, as git names it.
  std::filesystem::path object_of(std::string const& content) {
    auto const answer = folder.path() / "answer";
    auto const file = search.tree(content) / "full.cpp";
    EXPECT_EQ(std::system(("git hash-object '" + file.string() + "' > '" + answer.string() + "'").c_str()), 0);
    auto const id = value(read_file(answer));
    return search.repository() / "objects" / id.substr(0, 2) / id.substr(2, 38);
  }

  // Changes the database as somebody would who ignores its rules, and puts the rules back afterwards.
  void tamper(std::string const& sql) {
    SQLite::Database raw(search.database().string(), SQLite::OPEN_READWRITE);
    std::vector<std::string> triggers, statements;
    SQLite::Statement query(raw, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'");
    while (query.executeStep()) {
      triggers.push_back(query.getColumn(0).getString());
      statements.push_back(query.getColumn(1).getString());
    }
    query.reset();
    for (auto const& trigger : triggers) raw.exec("DROP TRIGGER " + trigger);
    raw.exec(sql);
    for (auto const& statement : statements) raw.exec(statement);
  }
};

TEST_F(VerifyTest, AnUndamagedSearchHasNoFinding) {
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(verified().records, 11);
  EXPECT_EQ(verified().readable_records, 11);
  EXPECT_EQ(verified().commits, 2);
  EXPECT_EQ(verified().readable_commits, 2);
}

TEST_F(VerifyTest, AMissingDatabaseIsAnError) {
  auto const result = verify(folder.path() / "nowhere.db", search.repository());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::input);
}

TEST_F(VerifyTest, AChangedBodyBreaksItsHash) {
  tamper("UPDATE record SET body = replace(body, 'keep 16', 'keep 17') WHERE type = 'opportunity' AND number = 1");
  EXPECT_THAT(findings(), Contains(HasSubstr("O1: its hash does not fit")));
}

TEST_F(VerifyTest, ALostRecordBreaksTheChain) {
  tamper("DELETE FROM record WHERE type = 'model_usage'; DELETE FROM record WHERE type = 'opportunity' AND number = 2");
  EXPECT_THAT(findings(), Contains(HasSubstr("records were lost")));
  EXPECT_THAT(findings(), Contains(HasSubstr("O2: is in its table, but not readable in the journal")));
}

TEST_F(VerifyTest, ABodyThatCannotBeReadIsNamedAndTheRestStaysReadable) {
  tamper("UPDATE record SET body = '{}' WHERE type = 'action' AND number = 1");
  EXPECT_THAT(findings(), Contains(HasSubstr("A1: cannot be read")));
  EXPECT_EQ(verified().readable_records, 10);
}

TEST_F(VerifyTest, ColumnsMustSayWhatTheBodySays) {
  tamper("UPDATE audit SET total_us = 1.0 WHERE number = 2");
  EXPECT_THAT(findings(), Contains(HasSubstr("U2: its columns or links say something else than its body")));
}

TEST_F(VerifyTest, LinksMustSayWhatTheBodySays) {
  tamper("UPDATE action_parent SET implementation = 1 WHERE action = 1");
  EXPECT_THAT(findings(), Contains(HasSubstr("A1: its columns or links say something else than its body")));
}

TEST_F(VerifyTest, AMissingRowIsNamed) {
  tamper("PRAGMA foreign_keys = OFF; DELETE FROM withdrawal");
  EXPECT_THAT(findings(), Contains(HasSubstr("W1: is in the journal, but missing from its table")));
}

TEST_F(VerifyTest, ALinkToNowhereIsNamed) {
  tamper("PRAGMA foreign_keys = OFF; UPDATE opportunity_evidence SET audit = 77 WHERE opportunity = 1");
  EXPECT_THAT(findings(), Contains(HasSubstr("a row of opportunity_evidence links to a row of audit that is missing")));
}

TEST_F(VerifyTest, AChangedSpecificationBreaksTheSeal) {
  tamper("UPDATE search SET specification_text = specification_text || '# looser'");
  EXPECT_THAT(findings(), Contains(HasSubstr("the seal is not the hash")));
}

TEST_F(VerifyTest, AChangedBaselineBreaksTheSeal) {
  tamper("UPDATE search SET baseline_us = replace(baseline_us, '10.0', '11.0')");
  EXPECT_THAT(findings(), Contains(HasSubstr("the seal is not the hash")));
}

TEST_F(VerifyTest, ADroppedRuleIsNamed) {
  SQLite::Database(search.database().string(), SQLite::OPEN_READWRITE).exec("DROP TRIGGER audit_no_UPDATE");
  EXPECT_THAT(findings(), Contains(HasSubstr("its rules were changed: trigger audit_no_UPDATE is missing")));
}

TEST_F(VerifyTest, AnAuditOfOtherSourcesIsNamed) {
  // A whole record written by the store, so that hashes and columns agree: only the report is about something else.
  {
    auto store = value(Store::open(search.database(), Store::Mode::read_write));
    value(store.append(sample_audit({1}), false, false, std::nullopt));
  }
  EXPECT_THAT(findings(), Contains(HasSubstr("U3: its report is about other sources than those of I1")));
  EXPECT_THAT(findings(), Contains(HasSubstr("U3: its report carries another seal than the search")));
}

TEST_F(VerifyTest, ADamagedPageIsFoundAndTheRestIsStillRead) {
  SQLite::Database(search.database().string(), SQLite::OPEN_READWRITE).exec("PRAGMA wal_checkpoint(TRUNCATE)");
  auto const size = std::filesystem::file_size(search.database());
  std::fstream file(search.database(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size - 4096));
  file << std::string(4096, '\x5a');
  file.close();
  EXPECT_FALSE(findings().empty());
  EXPECT_EQ(verified().readable_commits, verified().commits);
}

TEST_F(VerifyTest, AFileThatIsNoDatabaseIsAFinding) {
  value(write_file(search.database(), std::string(8192, 'x')));
  EXPECT_THAT(findings(), Contains(HasSubstr("is not a database")));
}

TEST_F(VerifyTest, AMissingObjectIsNamedWithItsImplementation) {
  ASSERT_TRUE(std::filesystem::remove(object_of("child")));
  EXPECT_THAT(findings(), Contains(HasSubstr("I1: ")));
  EXPECT_EQ(verified().readable_commits, 1);
}

TEST_F(VerifyTest, ADamagedObjectIsNamedWithItsImplementation) {
  std::filesystem::permissions(object_of("child"), std::filesystem::perms::owner_all);
  value(write_file(object_of("child"), "garbage"));
  EXPECT_THAT(findings(), Contains(HasSubstr("I1: ")));
}

TEST_F(VerifyTest, AMissingReferenceIsNamedWithItsRemedy) {
  std::filesystem::remove(search.repository() / "refs/tik/I1");
  EXPECT_THAT(findings(), Contains(HasSubstr("git update-ref refs/tik/I1")));
}

TEST_F(VerifyTest, AMissingRepositoryIsOneFinding) {
  std::filesystem::remove_all(search.repository());
  EXPECT_THAT(findings(), Contains(HasSubstr("sources.git: ")));
  EXPECT_EQ(verified().readable_records, 11);
}

TEST_F(VerifyTest, VerifyingChangesNothing) {
  auto const before = value(read_file(search.database()));
  std::filesystem::permissions(search.database(), std::filesystem::perms::owner_read);
  verified();
  EXPECT_EQ(value(read_file(search.database())), before);
}

// Whoever would append looks at everything first: a page that was overwritten anywhere ends in a sentence, and not in one more
// record of a history that cannot be read.
TEST_F(VerifyTest, NoDamagedPageIsWrittenOn) {
  auto const whole = value(read_file(search.database()));
  constexpr std::size_t page = 4096;
  int damaged = 0;
  for (std::string const& garbage : {std::string(page, '\0'), std::string(page, '\xa5')}) {
    for (std::size_t at = page; at < whole.size(); at += page) {
      auto bytes = whole;
      bytes.replace(at, page, garbage);
      value(write_file(search.database(), bytes));
      auto const store = Store::open(search.database(), Store::Mode::read_write);
      bool const sound = findings().empty(); // a page that is not in use
      EXPECT_EQ(store.has_value(), sound) << "page " << at / page + 1;
      if (!store) {
        EXPECT_EQ(store.error().kind, ErrorKind::damage) << store.error().message;
        EXPECT_THAT(store.error().message, HasSubstr("tik verify"));
        ++damaged;
      }
      EXPECT_EQ(value(read_file(search.database())), bytes) << "page " << at / page + 1;
    }
  }
  EXPECT_GT(damaged, 20);
}

} // namespace
} // namespace tik::ir
