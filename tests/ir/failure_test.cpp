// What the machine does to a store: a full disk, a folder that may not be written, a kill in the middle.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ir/sample_search.h"

namespace tik::ir {
namespace {

using ::testing::HasSubstr;

struct FailureTest : ::testing::Test {
  TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "search.db";
};

// Runs `action` in a child process and returns its exit status, or minus the signal that ended it.
template <class Action>
int in_child(Action action) {
  pid_t const child = fork();
  if (child == 0) _exit(action());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(FailureTest, AFileThatCannotGrowIsAMachineErrorAndNothingIsLost) {
  { sample_store(file); }
  // A limit on the size of files stands for the full disk: the system refuses the write in the same place.
  int const status = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    auto store = value(Store::open(file, Store::Mode::read_write));
    rlimit const limit{200000, 200000};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 1000; ++i) {
      auto const result = store.append(sample_opportunity({0}, {1}));
      if (result) continue;
      bool const told =
          result.error().kind == ErrorKind::machine && result.error().message.find("nothing was recorded") != std::string::npos;
      return told ? std::min(i, 100) : 101;
    }
    return 102;
  });
  EXPECT_GT(status, 0);
  EXPECT_LE(status, 100) << "101: the error did not say what happened; 102: the limit was not met";
  auto store = value(Store::open(file, Store::Mode::read_write));
  auto const counts = value(store.counts());
  EXPECT_GE(counts.opportunities, status);
  EXPECT_EQ(value(store.append(sample_opportunity({0}, {1}))).id.number, counts.opportunities + 1);
}

TEST_F(FailureTest, AFolderThatMayNotBeWrittenIsReadAllTheSame) {
  { sample_store(file); }
  // As an ordinary user: the superuser may write everywhere.
  int const status = in_child([&] {
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
    std::filesystem::permissions(file, std::filesystem::perms(0444));
    if (geteuid() == 0 && setuid(65534) != 0) return 1;
    auto const reader = Store::open(file, Store::Mode::read_only);
    if (!reader || value(reader->counts()).opportunities != 1) return 2;
    auto const writer = Store::open(file, Store::Mode::read_write);
    if (writer) return 3;
    return writer.error().kind == ErrorKind::machine ? 0 : 4;
  });
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  EXPECT_EQ(status, 0) << "1: no other user; 2: not read; 3: written; 4: wrong kind of error";
}

TEST_F(FailureTest, ACreateInAMissingFolderIsAMachineError) {
  auto const store = Store::create(folder.path() / "nowhere" / "search.db", sample_identity());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::machine);
  EXPECT_THAT(store.error().message, HasSubstr("cannot be opened"));
}

TEST_F(FailureTest, EveryAcknowledgedRecordSurvivesAKill) {
  { sample_store(file); }
  std::int64_t opportunities = 1;
  for (int round = 0; round < 20; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    pid_t const child = fork();
    if (child == 0) {
      auto store = value(Store::open(file, Store::Mode::read_write));
      for (;;) {
        value(store.append(sample_decision({0}, {1}), {sample_opportunity({0}, {1})}));
        char const acknowledged = 1;
        if (write(pipe_ends[1], &acknowledged, 1) != 1) _exit(1);
      }
    }
    close(pipe_ends[1]);
    usleep(static_cast<useconds_t>(2000 + 1700 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    char acknowledgements[4096];
    ssize_t acknowledged = 0;
    for (ssize_t count = 0; (count = read(pipe_ends[0], acknowledgements, sizeof acknowledgements)) > 0;) acknowledged += count;
    close(pipe_ends[0]);
    auto const store = value(Store::open(file, Store::Mode::read_write));
    auto const counts = value(store.counts());
    EXPECT_EQ(counts.opportunities, counts.decisions); // together or not at all
    EXPECT_GE(counts.opportunities, opportunities + acknowledged);
    EXPECT_LE(counts.opportunities, opportunities + acknowledged + 1); // the last may have been written but not acknowledged
    EXPECT_EQ(value(store.replay(0, [](auto, auto, auto const&) {})), 2 + 2 * counts.opportunities);
    opportunities = counts.opportunities;
  }
}

TEST_F(FailureTest, AKillDuringACommitLeavesOnlyGarbage) {
  SampleSearch const search(folder.path());
  for (int round = 0; round < 10; ++round) {
    pid_t const child = fork();
    if (child == 0) {
      auto sources = value(SourceRepository::open(search.repository()));
      for (int i = 0;; ++i) {
        value(write_file(search.tree("child") / "full.cpp", std::to_string(round) + " " + std::to_string(i)));
        value(sources.commit(search.tree("child"), {}, "never recorded"));
      }
    }
    usleep(static_cast<useconds_t>(1000 + 1300 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::string const git = "git -C '" + search.repository().string() + "' ";
    EXPECT_EQ(std::system((git + "fsck --full --strict > /dev/null 2>&1").c_str()), 0);
    auto sources = value(SourceRepository::open(search.repository()));
    auto const commit = value(sources.commit(search.tree("root"), {}, "the next one"));
    EXPECT_TRUE(sources.contains(commit));
  }
}

} // namespace
} // namespace tik::ir
