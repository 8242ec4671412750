// Containment of one process, with all layers and with each one missing: it ends in time, and nothing is left of it.
#include "src/evaluator/process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/evaluator/candidates.h"
#include "tests/evaluator/leftovers.h"
#include "tests/evaluator/worker_main.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Process : public testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace(ScratchFolder::temporary("process-test").value());
    protections_ = probe_protections(folder_->path()).value();
    descriptors_ = open_descriptors();
  }
  void TearDown() override {
    EXPECT_THAT(left_processes(), IsEmpty());
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

  RunResult shell(std::string const& script, Layers const& layers, double seconds = 20,
                  std::function<void(std::string_view)> on_output = {}) {
    ChildPlan plan;
    plan.command = {"sh", "-c", script};
    plan.environment = {"PATH=/usr/bin:/bin", "LANG=C"};
    plan.staging = make_folder(folder_->path(), "root").value();
    plan.layers = layers;
    plan.filter = CallFilter::build;
    plan.memory_mb = 1024;
    plan.cpu_seconds = 10;
    plan.file_mb = 1;
    plan.processes = 32;
    plan.user = contained_user();
    Child::Options options;
    options.seconds = seconds;
    options.output_bytes = 1000;
    options.on_output = std::move(on_output);
    return run(plan, std::move(options)).value();
  }
  RunResult shell(std::string const& script) { return shell(script, protections_.layers); }

  std::optional<ScratchFolder> folder_;
  Protections protections_;
  std::size_t descriptors_ = 0;
};

TEST_F(Process, HandsBackOutputAndExitCode) {
  RunResult const result = shell("echo out; echo err >&2; exit 7");
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_TRUE(result.exit.exited);
  EXPECT_EQ(result.exit.code, 7);
  EXPECT_GT(result.exit.peak_memory_kb, 0);
}

TEST_F(Process, ACommandThatIsNotThereSaysSo) {
  ChildPlan plan;
  plan.command = {"no-such-compiler"};
  plan.environment = {"PATH=/usr/bin"};
  plan.staging = make_folder(folder_->path(), "root").value();
  plan.layers = protections_.layers;
  plan.user = contained_user();
  RunResult const result = run(plan, {}).value();
  EXPECT_FALSE(result.exit.launched);
  EXPECT_THAT(describe(result.exit, 1), HasSubstr("starting no-such-compiler: No such file or directory"));
}

// Every set of layers that lacks one, and none at all: children of children in sessions of their own are found all the same.
TEST_F(Process, NoDescendantSurvivesItsLimitWhateverLayerIsMissing) {
  bool Layers::*const flags[] = {&Layers::mount_namespace, &Layers::pid_namespace,      &Layers::network_namespace,
                                 &Layers::ipc_namespace,   &Layers::system_call_filter, &Layers::separate_user};
  std::vector<Layers> sets = {protections_.layers, Layers{}};
  for (auto const flag : flags) {
    if (!(protections_.layers.*flag)) continue;
    Layers fewer = protections_.layers;
    fewer.*flag = false;
    // Another user could not reach the folders of this one.
    if (!fewer.mount_namespace) fewer.separate_user = false;
    sets.push_back(fewer);
  }
  for (Layers const& layers : sets) {
    auto const begin = Clock::now();
    RunResult const result = shell("(setsid sh -c 'sleep 98 & setsid sleep 97 & wait') & setsid sleep 99", layers, 0.5);
    EXPECT_TRUE(result.exit.timed_out) << describe(result.exit, 0.5);
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 0.5 + 2);
    EXPECT_THAT(left_processes(), IsEmpty());
    RunResult const left_behind = shell("setsid sleep 96 & exit 0", layers);
    EXPECT_TRUE(left_behind.exit.success()) << describe(left_behind.exit, 20);
    EXPECT_LT(left_behind.exit.seconds, 10);
    EXPECT_THAT(left_processes(), IsEmpty());
  }
}

bool is_running(std::string const& command_line) {
  for (auto const& entry : fs::directory_iterator("/proc")) {
    Result<std::string> const found = read_file(entry.path() / "cmdline");
    if (found && *found == command_line) return true;
  }
  return false;
}

TEST_F(Process, NothingSurvivesAParentThatIsKilled) {
  Layers group = protections_.layers;
  group.pid_namespace = false;
  for (Layers const& layers : {protections_.layers, group, Layers{}}) {
    std::string const command_line = std::string("sleep\0", 6) + "95.25" + '\0';
    pid_t const parent = fork();
    if (parent == 0) {
      shell("setsid sleep 95.25 & wait", layers);
      _exit(0);
    }
    auto const begin = Clock::now();
    auto const seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    while (!is_running(command_line) && seconds() < 20) usleep(1000);
    ASSERT_TRUE(is_running(command_line));
    kill(parent, SIGKILL);
    waitpid(parent, nullptr, 0);
    auto const killed = seconds();
    while (is_running(command_line) && seconds() < killed + 2) usleep(1000);
    EXPECT_FALSE(is_running(command_line));
  }
}

TEST_F(Process, LimitsBind) {
  EXPECT_THAT(shell("head -c 3000000 /dev/zero > /tmp/file; stat -c %s /tmp/file").output, Not(HasSubstr("3000000")));
  EXPECT_THAT(shell("ulimit -n; ulimit -c").output, HasSubstr("256\n0\n"));
  RunResult const flood = shell("yes | head -c 1000000");
  EXPECT_EQ(flood.output.size(), 1000U);
  EXPECT_TRUE(flood.output_cut);
}

TEST_F(Process, AFloodFasterThanItsReaderKeepsItsLimit) {
  auto const slowly = [](std::string_view) { usleep(20'000); };
  RunResult const result = shell("yes", protections_.layers, 1, slowly);
  EXPECT_TRUE(result.exit.timed_out);
  EXPECT_LT(result.exit.seconds, 3);
}

TEST_F(Process, WhoeverOutgrowsAWatchedLimitIsKilled) {
  for (Layers const& layers : {protections_.layers, Layers{}}) {
    ChildPlan plan;
    plan.environment = {"PATH=/usr/bin:/bin"};
    plan.staging = make_folder(folder_->path(), "root").value();
    plan.layers = layers;
    plan.user = contained_user();
    plan.resident_mb = 200;
    plan.command = {"tail", "/dev/zero"}; // keeps one endless line
    RunResult const eater = run(plan, {.seconds = 20}).value();
    EXPECT_EQ(eater.exit.outgrown_mb, 200);
    EXPECT_EQ(describe(eater.exit, 20), "took more than its limit of 200 MiB of memory and was killed");
    EXPECT_LT(eater.exit.peak_memory_kb, 1000 << 10);
    plan.command = {"sh", "-c", "head -c 100m /dev/zero | tail -c 1"};
    RunResult const modest = run(plan, {.seconds = 20}).value();
    EXPECT_EQ(modest.exit.outgrown_mb, 0);
    EXPECT_TRUE(modest.exit.success()) << describe(modest.exit, 20);
  }
}

TEST_F(Process, KeepsItsKeeperAlive) {
  RunResult const result = shell("kill -9 1; kill -9 $PPID; kill -9 -1; echo still here");
  if (protections_.layers.pid_namespace) {
    EXPECT_THAT(result.output, HasSubstr("still here"));
  }
}

TEST_F(Process, MissingLayersAreNamed) {
  EXPECT_THAT(protections_.on, testing::Contains("rlimits"));
  EXPECT_EQ(protections_.layers.pid_namespace, testing::Matches(testing::Contains("pid-namespace"))(protections_.on));
  std::size_t const wanted = geteuid() == 0 ? 6 : 5; // the namespaces, seccomp, and for root a separate user
  std::size_t const always = 3, user = protections_.layers.user_namespace ? 1 : 0;
  EXPECT_EQ(protections_.on.size() - always - user + protections_.missing.size(), wanted);
}

TEST_F(Process, PlansReadBackAsTheyWereWritten) {
  ChildPlan plan;
  plan.command = {"sh", std::string("with \xff bytes")};
  plan.mounts = {{"/a", "/b", true}};
  plan.memory_mb = 5;
  plan.resident_mb = 6;
  plan.processor = 1;
  plan.user = 42;
  ChildPlan const again = decode_plan(encode_plan(plan)).value();
  EXPECT_EQ(again.command, plan.command);
  EXPECT_EQ(again.mounts[0].host, "/a");
  EXPECT_TRUE(again.mounts[0].writable);
  EXPECT_EQ(again.memory_mb, 5);
  EXPECT_EQ(again.resident_mb, 6);
  EXPECT_EQ(again.processor, 1);
  EXPECT_EQ(again.user, 42U);
  EXPECT_FALSE(decode_plan("no plan").has_value());
}

} // namespace
} // namespace tik::evaluator
