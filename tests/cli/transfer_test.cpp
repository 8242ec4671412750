// Verify, export and import: what is sound is said to be, what was changed is found.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "src/base/sha256.h"
#include "tests/cli/golden.h"
#include "tests/cli/sample_search.h"

namespace tik::cli::test {
namespace {

using testing::HasSubstr;

class Transfer : public testing::Test {
 protected:
  Outcome import_again() {
    std::filesystem::remove_all(copy_);
    return tik({"import", exported_, copy_});
  }
  // Changes a line of the export and expects that the import says no, with `word`, and leaves nothing.
  void expect_refused_with(std::string const& from, std::string const& to, std::string const& word) {
    std::string const file = exported_ + "/records.jsonl", before = slurp(file);
    ASSERT_NE(before.find(from), std::string::npos) << from;
    spill(file, replaced(before, from, to));
    expect_bad_input(import_again(), {"records.jsonl", word});
    EXPECT_FALSE(std::filesystem::exists(copy_));
    EXPECT_FALSE(std::filesystem::exists(copy_ + ".part"));
    spill(file, before);
  }

  TemporaryFolder folder_;
  std::string search_ = folder_ / "search", exported_ = folder_ / "exported", copy_ = folder_ / "copy";
  SampleSearch sample_{search_};
};

TEST_F(Transfer, SoundSearchIsSaidToBeSound) {
  Outcome const outcome = tik({"verify", search_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("sound"));
  EXPECT_EQ(json_of(tik({"verify", search_, "--json"}))["sound"], true);
}

TEST_F(Transfer, MissingGitObjectIsFound) {
  std::string const commit = json_of(tik({"show", "I2", "-C", search_, "--json"}))["record"]["commit"];
  std::filesystem::remove(search_ + "/sources.git/objects/" + commit.substr(0, 2) + "/" + commit.substr(2));
  Outcome const outcome = tik({"verify", search_});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("I2"));
  EXPECT_EQ(tik({"status", search_}).exit_code, 0) << "what is readable stays readable";
}

TEST_F(Transfer, ImportGivesTheSameSearch) {
  Outcome const exported = tik({"export", search_, "--out", exported_});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  Outcome const imported = import_again();
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  for (std::vector<std::string> const& command : {std::vector<std::string>{"status", "--json"},
                                                  {"log", "--json"},
                                                  {"show", "U4", "--json"},
                                                  {"show", "I5", "--json"},
                                                  {"show", "L6", "--json"},
                                                  {"diff", "I0", "I5"}})
    EXPECT_EQ(tik(command, {{"TIK_DIR", copy_}}).out, tik(command, {{"TIK_DIR", search_}}).out) << command[0];
  ASSERT_EQ(tik({"export", copy_, "--out", folder_ / "again"}).exit_code, 0);
  std::string const first = slurp(exported_ + "/records.jsonl"), second = slurp(folder_ / "again/records.jsonl");
  EXPECT_EQ(first.substr(0, first.find("{\"end\"")), second.substr(0, second.find("{\"end\"")))
      << "times, ids and hashes included";
}

TEST_F(Transfer, BundleIsReadByGit) {
  ASSERT_EQ(tik({"export", search_, "--out", exported_}).exit_code, 0);
  EXPECT_EQ(std::system(("git bundle list-heads '" + exported_ + "/sources.bundle' | grep -q refs/tik/I5").c_str()), 0);
}

TEST_F(Transfer, ChangedExportIsRefused) {
  ASSERT_EQ(tik({"export", search_, "--out", exported_}).exit_code, 0);
  expect_refused_with("it leads on", "it leads off", "hash of the lines above");
  expect_refused_with("\"sequence\":3,", "\"sequence\":4,", "sequence");
  expect_refused_with("\"schema\":1,\"specification_file\"", "\"schema\":99,\"specification_file\"", "schema");
  expect_refused_with("{\"end\":true", "{\"end\":1", "end");
}

TEST_F(Transfer, ChangedRecordIsRefusedThoughItsLinesAreHashedAnew) {
  ASSERT_EQ(tik({"export", search_, "--out", exported_}).exit_code, 0);
  std::string const file = exported_ + "/records.jsonl";
  std::string text = replaced(slurp(file), "it leads on", "it leads off");
  std::size_t const end = text.find("{\"end\"");
  auto last = nlohmann::ordered_json::parse(text.substr(end));
  last["records_sha256"] = sha256_hex(text.substr(0, end));
  spill(file, text.substr(0, end) + last.dump() + '\n');
  expect_bad_input(import_again(), {"records.jsonl:", "changed"});
  EXPECT_FALSE(std::filesystem::exists(copy_));
}

TEST_F(Transfer, CutOrForeignFilesAreRefused) {
  ASSERT_EQ(tik({"export", search_, "--out", exported_}).exit_code, 0);
  std::string const file = exported_ + "/records.jsonl", before = slurp(file);
  spill(file, before.substr(0, before.size() / 2));
  expect_bad_input(import_again(), {"records.jsonl:"});
  spill(file, before.substr(0, before.find("{\"end\"")));
  expect_bad_input(import_again(), {"cut"});
  spill(file, before);
  spill(exported_ + "/sources.bundle", slurp(exported_ + "/sources.bundle") + "x");
  expect_bad_input(import_again(), {"sources.bundle"});
}

// Nobody writes into these pipes: whoever opened one would wait for ever.
TEST_F(Transfer, APipeInPlaceOfAFileDoesNotHoldTheImport) {
  for (std::string const part : {"records.jsonl", "sources.bundle"}) {
    std::filesystem::remove_all(exported_);
    ASSERT_EQ(tik({"export", search_, "--out", exported_}).exit_code, 0);
    std::filesystem::remove(exported_ + "/" + part);
    ASSERT_EQ(mkfifo((exported_ + "/" + part).c_str(), 0600), 0);
    Outcome const outcome = Program({"import", exported_, copy_}).finish(10);
    expect_bad_input(outcome, {part, "regular file"});
    EXPECT_LT(outcome.seconds, 2);
  }
}

TEST_F(Transfer, NothingIsWrittenOver) {
  ASSERT_EQ(tik({"export", search_, "--out", exported_}).exit_code, 0);
  expect_bad_input(tik({"export", search_, "--out", exported_}), {exported_});
  std::string const records = records_of(search_);
  expect_bad_input(tik({"import", exported_, search_}), {search_});
  EXPECT_EQ(records_of(search_), records);
}

// What searches/attention-h200 says of itself is what its records say.
TEST(RecordedSearch, IsSoundAndItsReportIsThatOfItsRecords) {
  TemporaryFolder const folder;
  std::string const recorded = std::string(TIK_SOURCE_DIR) + "/searches/attention-h200", copy = folder / "copy";
  Outcome const imported = tik({"import", recorded, copy});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(json_of(tik({"verify", copy, "--json"}))["sound"], true);
  ASSERT_EQ(tik({"report", copy, "--out", folder / "report"}).exit_code, 0);
  EXPECT_EQ(slurp(folder / "report" + "/report.md"), slurp(recorded + "/report/report.md"));
}

} // namespace
} // namespace tik::cli::test
