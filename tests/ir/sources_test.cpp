// Source trees as commits: what goes in comes out, what differs is told exactly, what merges is merged, what is odd is refused.
#include "src/ir/sources.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/ir/sample_records.h"

namespace tik::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Files = std::map<std::string, std::string>;

struct SourcesTest : ::testing::Test {
  TemporaryFolder temporary;
  SourceRepository repository = value(SourceRepository::create(temporary.path() / "sources.git"));
  int folders = 0;

  std::filesystem::path new_folder() { return temporary.path() / fmt::format("folder-{}", folders++); }

  std::filesystem::path folder_with(Files const& files) {
    auto const folder = new_folder();
    std::filesystem::create_directories(folder);
    for (auto const& [name, content] : files) {
      std::filesystem::create_directories((folder / name).parent_path());
      value(write_file(folder / name, content));
    }
    return folder;
  }

  std::string commit(Files const& files, std::vector<std::string> const& parents = {}) {
    return value(repository.commit(folder_with(files), parents, "test"));
  }

  Files checked_out(std::string const& commit) {
    auto const folder = new_folder();
    value(repository.check_out(commit, folder));
    return read(folder);
  }

  static Files read(std::filesystem::path const& folder) {
    Files files;
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file())
        files[entry.path().lexically_relative(folder).generic_string()] = value(read_file(entry.path()));
    }
    return files;
  }

  std::string refusal(std::filesystem::path const& folder) {
    auto const result = repository.commit(folder, {}, "test");
    if (result) return "committed";
    EXPECT_EQ(result.error().kind, ErrorKind::input);
    return result.error().message;
  }

  int git(std::string const& arguments) {
    return std::system(
        ("git -C '" + (temporary.path() / "sources.git").string() + "' " + arguments + " > /dev/null 2>&1").c_str());
  }
};

Files const simple = {{"implementation.toml", "schema = 1\n"}, {"full.cpp", "one\ntwo\nthree\n"}, {"deep/er/a.h", "x\n"}};

TEST_F(SourcesTest, CheckOutGivesBackEveryByte) {
  Files files = simple;
  files["bytes.bin"] = std::string("\0\xff\r\n\x1a no line end", 17);
  files["empty"] = "";
  files["ä ö.txt"] = "umlauts\n";
  EXPECT_EQ(checked_out(commit(files)), files);
}

TEST_F(SourcesTest, ExecutableFilesStayExecutable) {
  auto const folder = folder_with(simple);
  std::filesystem::permissions(folder / "full.cpp", std::filesystem::perms::owner_all);
  auto const out = new_folder();
  value(repository.check_out(value(repository.commit(folder, {}, "test")), out));
  EXPECT_NE(std::filesystem::status(out / "full.cpp").permissions() & std::filesystem::perms::owner_exec,
            std::filesystem::perms::none);
  EXPECT_EQ(std::filesystem::status(out / "deep/er/a.h").permissions() & std::filesystem::perms::owner_exec,
            std::filesystem::perms::none);
}

TEST_F(SourcesTest, CheckOutRefusesAFolderThatHoldsSomething) {
  auto const id = commit(simple);
  auto const folder = folder_with({{"precious.txt", "mine"}});
  auto const result = repository.check_out(id, folder);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("is not empty"));
  EXPECT_EQ(read(folder), (Files{{"precious.txt", "mine"}}));
}

TEST_F(SourcesTest, ParentsAreTheParentImplementations) {
  auto const root = commit(simple);
  auto const left = commit({{"a", "1\n"}}, {root});
  auto const right = commit({{"a", "2\n"}}, {root});
  auto const merge = commit({{"a", "3\n"}}, {left, right});
  EXPECT_THAT(value(repository.parents(merge)), ElementsAre(left, right));
  EXPECT_THAT(value(repository.parents(root)), ElementsAre());
  auto const missing = repository.commit(folder_with(simple), {std::string(40, '1')}, "test");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::damage);
}

TEST_F(SourcesTest, GitItselfReadsTheRepository) {
  auto const root = commit(simple);
  value(repository.keep("I0", root));
  auto const child = commit({{"full.cpp", "changed\n"}}, {root});
  value(repository.keep("I1", child));
  EXPECT_EQ(git("fsck --strict --full"), 0);
  EXPECT_EQ(git("rev-parse --verify refs/tik/I1^1"), 0);
  EXPECT_EQ(git("gc --prune=now"), 0);
  EXPECT_TRUE(repository.contains(root));
  EXPECT_EQ(checked_out(root), simple);
}

TEST_F(SourcesTest, CommitsWithoutAReferenceAreOnlyGarbage) {
  auto const root = commit(simple);
  value(repository.keep("I0", root));
  auto const lost = commit({{"full.cpp", "never recorded\n"}}, {root});
  EXPECT_TRUE(repository.contains(lost));
  EXPECT_EQ(git("gc --prune=now"), 0);
  auto const reopened = value(SourceRepository::open(temporary.path() / "sources.git"));
  EXPECT_FALSE(reopened.contains(lost));
  EXPECT_TRUE(reopened.contains(root));
}

TEST_F(SourcesTest, KeepIsRepeatableAndMovesWhatACrashLeftBehind) {
  auto const lost = commit(simple);
  auto const recorded = commit({{"a", "other\n"}}, {lost});
  EXPECT_EQ(value(repository.kept("I1")), "");
  value(repository.keep("I1", lost));
  value(repository.keep("I1", lost));
  EXPECT_EQ(value(repository.kept("I1")), lost);
  value(repository.keep("I1", recorded));
  EXPECT_EQ(value(repository.kept("I1")), recorded);
}

TEST_F(SourcesTest, DigestsHashLikeTheFolder) {
  auto const id = commit(simple);
  EXPECT_EQ(hash_source_digests(value(repository.digests(id))),
            hash_source_files(value(read_source_folder(folder_with(simple)))));
  EXPECT_NE(hash_source_digests(value(repository.digests(id))),
            hash_source_digests(value(repository.digests(commit({{"a", "x"}})))));
}

TEST_F(SourcesTest, CommitsTogetherAreAllThereOrNoneIs) {
  auto const root = commit(simple);
  std::string first, second;
  value(repository.together([&]() -> Result<void> {
    first = commit({{"a", "1\n"}}, {root});
    second = commit({{"a", "2\n"}}, {first});
    value(repository.keep("I2", second));
    EXPECT_EQ(value(repository.diff(first, second)).files.size(), 1u);
    return {};
  }));
  EXPECT_EQ(value(repository.kept("I2")), second);
  EXPECT_EQ(checked_out(first), (Files{{"a", "1\n"}}));
  std::string dropped;
  EXPECT_FALSE(repository.together([&]() -> Result<void> {
    dropped = commit({{"a", "3\n"}}, {root});
    return input_error("changed my mind");
  }));
  EXPECT_FALSE(repository.contains(dropped));
  EXPECT_TRUE(repository.contains(commit({{"a", "4\n"}}, {second})));
}

TEST_F(SourcesTest, UnknownCommitsAreNamed) {
  EXPECT_FALSE(repository.contains(std::string(40, 'a')));
  EXPECT_FALSE(repository.contains("I7"));
  auto const odd = repository.list("I7");
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().kind, ErrorKind::input);
  EXPECT_THAT(odd.error().message, HasSubstr("'I7' is not a commit id"));
  auto const missing = repository.list(std::string(40, 'a'));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::damage);
  EXPECT_THAT(missing.error().message, HasSubstr(std::string(40, 'a')));
}

TEST_F(SourcesTest, ListAndReadShowOneCommit) {
  auto const id = commit(simple);
  EXPECT_THAT(value(repository.list(id)), ElementsAre("deep/er/a.h", "full.cpp", "implementation.toml"));
  EXPECT_EQ(value(repository.read(id, "deep/er/a.h")), "x\n");
  auto const missing = repository.read(id, "nothing.h");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("'nothing.h' is not in commit"));
}

TEST_F(SourcesTest, DifferencesNameFilesAndChangedLines) {
  auto const before = commit({{"a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"}, {"gone", "x\ny\n"}, {"same", "s\n"}});
  auto const after = commit({{"a", "1\ntwo\n3\n4\n5\n6\n7\n8\n9\nten\neleven\n"}, {"new", "p\nq\nr\n"}, {"same", "s\n"}});
  auto const difference = value(repository.diff(before, after));
  ASSERT_EQ(difference.files.size(), 3u);
  EXPECT_EQ(difference.files[0].file, "a");
  EXPECT_EQ(difference.files[0].kind, FileChange::Kind::modified);
  EXPECT_THAT(difference.files[0].lines, ElementsAre(std::pair(2, 2), std::pair(10, 11)));
  EXPECT_EQ(difference.files[1].file, "gone");
  EXPECT_EQ(difference.files[1].kind, FileChange::Kind::removed);
  EXPECT_THAT(difference.files[1].lines, ElementsAre(std::pair(1, 2)));
  EXPECT_EQ(difference.files[2].file, "new");
  EXPECT_EQ(difference.files[2].kind, FileChange::Kind::added);
  EXPECT_THAT(difference.files[2].lines, ElementsAre(std::pair(1, 3)));
  EXPECT_THAT(difference.text, HasSubstr("-2\n+two\n"));
  EXPECT_THAT(difference.text, HasSubstr("+++ b/new\n"));
}

TEST_F(SourcesTest, RemovedLinesStandAtTheLineBeforeThem) {
  auto const before = commit({{"a", "1\n2\n3\n4\n"}});
  EXPECT_THAT(value(repository.diff(before, commit({{"a", "1\n2\n4\n"}}))).files[0].lines, ElementsAre(std::pair(2, 2)));
  EXPECT_THAT(value(repository.diff(before, commit({{"a", "2\n3\n4\n"}}))).files[0].lines, ElementsAre(std::pair(1, 1)));
}

TEST_F(SourcesTest, EqualTreesHaveNoDifference) {
  auto const difference = value(repository.diff(commit(simple), commit(simple)));
  EXPECT_TRUE(difference.files.empty());
  EXPECT_TRUE(difference.text.empty());
}

TEST_F(SourcesTest, AFoldersDifferenceIsThatOfItsCommitAndLeavesNothingBehind) {
  auto const before = commit(simple);
  Files changed = simple;
  changed["full.cpp"] = "one\n2\nthree\n";
  changed["fresh.h"] = "f\n";
  auto const folder = folder_with(changed);
  auto const objects = [&] { return read(temporary.path() / "sources.git" / "objects").size(); };
  auto const count = objects();
  auto const difference = value(repository.diff_folder(before, folder));
  EXPECT_EQ(objects(), count);
  EXPECT_EQ(difference.text, value(repository.diff(before, commit(changed))).text);
  EXPECT_EQ(difference.files.size(), 2u);
  EXPECT_TRUE(value(repository.diff_folder(before, folder_with(simple))).files.empty());
}

TEST_F(SourcesTest, TheTextOfADifferenceRebuildsTheTree) {
  Files after = simple;
  after["full.cpp"] = "one\nzwei\nthree";
  after["bytes.bin"] = std::string("\0\1\2\xff", 4);
  after.erase("deep/er/a.h");
  auto const before = commit(simple);
  auto const folder = new_folder();
  value(repository.check_out(before, folder));
  value(write_file(temporary.path() / "patch", value(repository.diff(before, commit(after))).text));
  ASSERT_EQ(std::system(("cd '" + folder.string() + "' && git apply ../patch").c_str()), 0);
  EXPECT_EQ(read(folder), after);
}

TEST_F(SourcesTest, BranchesThatChangedDifferentLinesMerge) {
  std::string const base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  auto const root = commit({{"a", base}, {"b", "b\n"}});
  auto const ours = commit({{"a", "one\n2\n3\n4\n5\n6\n7\n8\n9\n"}, {"b", "b\n"}}, {root});
  auto const theirs = commit({{"a", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"}, {"b", "b\n"}, {"c", "c\n"}}, {root});
  auto const folder = new_folder();
  auto const count = read(temporary.path() / "sources.git" / "objects").size();
  EXPECT_TRUE(value(repository.merge(ours, theirs, folder)).conflicts.empty());
  EXPECT_EQ(read(folder), (Files{{"a", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n"}, {"b", "b\n"}, {"c", "c\n"}}));
  EXPECT_EQ(read(temporary.path() / "sources.git" / "objects").size(), count);
}

TEST_F(SourcesTest, BranchesThatChangedTheSameLineConflictByName) {
  auto const root = commit({{"a", "1\n2\n3\n"}, {"deep/b", "b\n"}});
  auto const ours = commit({{"a", "1\nours\n3\n"}, {"deep/b", "b\n"}}, {root});
  auto const theirs = commit({{"a", "1\ntheirs\n3\n"}, {"deep/b", "b\n"}}, {root});
  auto const folder = new_folder();
  EXPECT_THAT(value(repository.merge(ours, theirs, folder)).conflicts, ElementsAre("a"));
  EXPECT_FALSE(std::filesystem::exists(folder));
  auto const removed = commit({{"a", "1\nours\n3\n"}}, {root});
  auto const changed = commit({{"a", "1\nours\n3\n"}, {"deep/b", "b changed\n"}}, {root});
  EXPECT_THAT(value(repository.merge(removed, changed, folder)).conflicts, ElementsAre("deep/b"));
}

TEST_F(SourcesTest, MergeUsesTheLatestCommonAncestor) {
  std::string const base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  auto const root = commit({{"a", base}});
  auto const middle = commit({{"a", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"}}, {root});
  auto const ours = commit({{"a", "one\n2\n3\n4\nfive\n6\n7\n8\n9\n"}}, {middle});
  auto const theirs = commit({{"a", "1\n2\n3\n4\nfive\n6\n7\n8\nnine\n"}}, {middle});
  auto const folder = new_folder();
  EXPECT_TRUE(value(repository.merge(ours, theirs, folder)).conflicts.empty());
  EXPECT_EQ(read(folder).at("a"), "one\n2\n3\n4\nfive\n6\n7\n8\nnine\n");
}

TEST_F(SourcesTest, SymbolicLinksAreRefused) {
  auto const folder = folder_with(simple);
  std::filesystem::create_symlink("/etc/passwd", folder / "link.h");
  EXPECT_THAT(refusal(folder), HasSubstr("'link.h' is a symbolic link"));
  std::filesystem::remove(folder / "link.h");
  std::filesystem::create_directory_symlink("/etc", folder / "deep" / "etc");
  EXPECT_THAT(refusal(folder), HasSubstr("'deep/etc' is a symbolic link"));
  auto const difference = repository.diff_folder(commit(simple), folder);
  ASSERT_FALSE(difference);
  EXPECT_THAT(difference.error().message, HasSubstr("symbolic link"));
}

TEST_F(SourcesTest, PipesAndOtherOddFilesAreRefused) {
  auto const folder = folder_with(simple);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder), HasSubstr("'pipe' is neither a regular file nor a folder"));
}

TEST_F(SourcesTest, NamesThatAreNotPlainTextAreRefused) {
  EXPECT_THAT(refusal(folder_with({{"bad\xff.h", "x"}})), HasSubstr("'bad\\xff.h' is not UTF-8"));
  EXPECT_THAT(refusal(folder_with({{"line\nend.h", "x"}})), HasSubstr("'line\\x0aend.h' holds a control character"));
  EXPECT_THAT(refusal(folder_with({{".git/config", "x"}})), HasSubstr("'.git' is a name that git keeps for itself"));
  EXPECT_THAT(refusal(folder_with({{"back\\slash", "x"}})), HasSubstr("backslash"));
}

TEST_F(SourcesTest, TooMuchIsRefused) {
  EXPECT_THAT(refusal(folder_with({})), HasSubstr("holds no file"));
  std::string deep = "f";
  for (int i = 0; i < 40; ++i) deep = "d/" + deep;
  EXPECT_THAT(refusal(folder_with({{deep, "x"}})), HasSubstr("lies too deep"));
  auto const folder = folder_with(simple);
  std::filesystem::resize_file(folder / "full.cpp", (64 << 20) + 1); // sparse
  EXPECT_THAT(refusal(folder), HasSubstr("'full.cpp' makes the source tree larger than"));
  EXPECT_THAT(refusal(temporary.path() / "nowhere"), HasSubstr("cannot be read as a folder"));
}

TEST_F(SourcesTest, AMissingObjectIsDamageThatNamesIt) {
  auto const id = commit(simple);
  auto const other = commit({{"full.cpp", "kept\n"}});
  // The blob of "x\n", deep/er/a.h.
  auto const blob = temporary.path() / "sources.git/objects/58/7be6b4c3f93f93c489c0111bba5596147a26cb";
  ASSERT_TRUE(std::filesystem::remove(blob));
  auto const reopened = value(SourceRepository::open(temporary.path() / "sources.git"));
  auto const result = reopened.check_out(id, new_folder());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::damage);
  EXPECT_THAT(result.error().message, HasSubstr("deep/er/a.h"));
  EXPECT_TRUE(reopened.check_out(other, new_folder()));
}

TEST_F(SourcesTest, ALockThatAKilledProcessLeftOnANameIsTakenAway) {
  auto const id = commit(simple);
  std::filesystem::create_directories(temporary.path() / "sources.git/refs/tik");
  value(write_file(temporary.path() / "sources.git/refs/tik/I0.lock", ""));
  value(repository.keep("I0", id));
  EXPECT_EQ(value(repository.kept("I0")), id);
}

TEST_F(SourcesTest, OpenRefusesWhatIsNoRepository) {
  auto const result = SourceRepository::open(temporary.path() / "nowhere");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::damage);
  EXPECT_FALSE(SourceRepository::create(temporary.path() / "sources.git"));
}

} // namespace
} // namespace tik::ir
