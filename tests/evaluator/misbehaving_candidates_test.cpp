// The evaluator against candidates that hang, crash, lie or cheat, each compiled here: each ends with the right outcome.
#include <set>

#include "src/base/sanitized.h"
#include "src/evaluator/process.h"
#include "src/evaluator/wire.h"
#include "src/spec/manifest.h"
#include "tests/evaluator/evaluate_fixture.h"
#include "tests/evaluator/worker_main.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

struct Hang {
  char const* name;
  Hostility hostility;
  std::string stage;
};

class Hanging : public Evaluate, public testing::WithParamInterface<Hang> {};

TEST_P(Hanging, EndsWithinItsLimitAndTwoSecondsWithNoProcessLeft) {
  constexpr double limit = 1;
  specification_.build_limits.seconds = GetParam().stage == "build" ? limit : 60;
  specification_.run_limits.seconds = limit;
  write_candidate(folder_->path() / "candidate", GetParam().hostility);
  Result<Report> const report = evaluate(request(folder_->path() / "candidate"));
  EXPECT_THAT(left_processes(), IsEmpty());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  Stage const& stage = *report->find_stage(GetParam().stage);
  EXPECT_EQ(stage.outcome, Outcome::failed);
  EXPECT_THAT(stage.message, HasSubstr("did not finish within its limit of 1 s"));
  EXPECT_LT(stage.seconds, limit + 2);
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, Hanging,
    testing::Values(Hang{"build", {.build = "sleep 100 & setsid sleep 100 & sleep 100"}, "build"},
                    Hang{"load", {.on_load = "for (;;) asm volatile(\"\");"}, "consistency"},
                    Hang{"version", {.version = "([] { for (;;) asm volatile(\"\"); return 1; })()"}, "consistency"},
                    Hang{"call", {.before = "for (;;) asm volatile(\"\");"}, "consistency"},
                    Hang{"decode", {.before = "if (entry == 2) for (;;) asm volatile(\"\");"}, "consistency"}),
    [](auto const& test) { return test.param.name; });

// Building.

TEST_F(Evaluate, ACompilerErrorFailsTheBuildWithItsFirstLine) {
  expect_failure({.declarations = "int broken = \"text\";"}, "build", "error: invalid conversion");
}
TEST_F(Evaluate, AForkBombInABuildIsContained) {
  specification_.build_limits.seconds = 2;
  expect_failure({.build = "bomb() { bomb | bomb & }; bomb; sleep 100"}, "build", "The build");
}
TEST_F(Evaluate, AFloodOfOutputIsCut) {
  Report const report = evaluate_hostile({.build = "yes | head -c 100000000; exit 3"});
  Stage const& build = *report.find_stage("build");
  EXPECT_EQ(build.outcome, Outcome::failed);
  EXPECT_TRUE(build.details.at("log_cut").get<bool>());
  EXPECT_LE(build.details.at("log").get<std::string>().size(), 64U << 10);
}
TEST_F(Evaluate, ABuildReachesNeitherFilesOutsideItsFoldersNorTheNetwork) {
  fs::path const secret = folder_->path() / "secret";
  write_or_throw(secret, "of another search");
  Report const report =
      evaluate_hostile({.build = "cat " + secret.string() + "; echo x > " + secret.string() + "; echo y > plain.cpp; " +
                                 "python3 -c 'import socket; socket.socket()'; exit 1"});
  std::string const log = report.find_stage("build")->details.at("log");
  EXPECT_THAT(log, testing::AnyOf(HasSubstr("PermissionError"), HasSubstr("ermission denied")));
  if (!testing::Matches(testing::Contains("mount-namespace"))(report.protections)) {
    GTEST_SKIP() << "files are not tried: mount-namespace is off here";
  }
  EXPECT_THAT(log, testing::Not(HasSubstr("of another search")));
  EXPECT_EQ(read_file(secret).value(), "of another search");
  EXPECT_THAT(log, testing::AnyOf(HasSubstr("Read-only file system"), HasSubstr("ermission denied")));
}
TEST_F(Evaluate, ABuildWithoutALibraryFails) { expect_failure({.build = "true"}, "build", "wrote no library"); }
TEST_F(Evaluate, ALinkInPlaceOfTheLibraryIsNotFollowed) {
  expect_failure({.build = "ln -s /usr/lib/x86_64-linux-gnu/libc.so.6 /output/library.so || ln -s /bin/sh $0"}, "build",
                 "is no plain file");
}
TEST_F(Evaluate, ASymbolicLinkOutOfTheTreeIsRefused) {
  fs::create_directories(folder_->path() / "candidate");
  fs::create_symlink("/etc/passwd", folder_->path() / "candidate" / "numerics.h");
  expect_failure({}, "build", "symbolic link");
}
TEST_F(Evaluate, SourcesThatAreNotUtf8LeaveAReadableReport) {
  Report const report = evaluate_hostile({.declarations = "#error \xff\xfe nonsense"});
  EXPECT_FALSE(report.verified());
  EXPECT_NO_THROW(static_cast<void>(to_json(report).dump()));
}

// Loading and calling.

TEST_F(Evaluate, ALibraryThatLiesAboutItsVersionIsNotUsed) { expect_failure({.version = "7"}, "consistency", "version 7"); }
TEST_F(Evaluate, ACrashWhileLoadingFails) {
  expect_failure({.on_load = "__builtin_trap();"}, "consistency", "was killed by signal");
}
TEST_F(Evaluate, ACrashInACallFails) {
  expect_failure({.before = "*static_cast<int volatile*>(nullptr) = 1;"}, "consistency", "Segmentation fault");
}
TEST_F(Evaluate, AnExitInTheMiddleOfACallFails) {
  expect_failure({.declarations = "extern \"C\" void _exit(int);", .before = "_exit(0);"}, "consistency", "exited with code 0");
}
TEST_F(Evaluate, AProcessIsNotStarted) {
  expect_failure({.declarations = "extern \"C\" int fork();", .before = "fork();"}, "consistency",
                 "system call that is not allowed");
}
TEST_F(Evaluate, AThreadIsNotStarted) {
  expect_failure({.declarations = "#include <pthread.h>\nstatic void* work(void*) { for (;;) asm volatile(\"\"); }",
                  .before = "pthread_t thread; pthread_create(&thread, nullptr, work, nullptr);"},
                 "consistency", "system call that is not allowed");
}
TEST_F(Evaluate, ASocketIsNotOpened) {
  expect_failure({.declarations = "#include <sys/socket.h>", .before = "socket(AF_INET, SOCK_STREAM, 0);"}, "consistency",
                 "system call that is not allowed");
}
TEST_F(Evaluate, AFileIsNotWritten) {
  expect_failure({.declarations = "#include <fcntl.h>", .before = "open(\"/tmp/shared\", O_RDWR | O_CREAT, 0600);"},
                 "consistency", "system call that is not allowed");
}
TEST_F(Evaluate, ACallThatSleepsFails) {
  expect_failure({.declarations = "#include <unistd.h>", .before = "usleep(100);"}, "consistency",
                 "system call that is not allowed");
}
TEST_F(Evaluate, MemoryIsLimited) {
#if TIK_SANITIZED
  GTEST_SKIP() << "a program with a sanitizer does not limit the address space of its workers";
#endif
  expect_failure({.declarations = "#include <stdlib.h>\n#include <string.h>",
                  .before = "for (;;) { void* p = malloc(1 << 20); if (p == nullptr) abort(); memset(p, 1, 1 << 20); }"},
                 "consistency", "The worker");
}

// Wrong results.

TEST_F(Evaluate, InputsCannotBeChanged) {
  expect_failure({.before = "const_cast<tik_bf16*>(args->queries)[0] = 0;"}, "consistency", "wrote to its inputs");
}
TEST_F(Evaluate, AWriteBesideTheOutputsIsSeen) {
  expect_failure({.after = "args->out[-4] = 0;"}, "consistency", "wrote outside its outputs");
}
TEST_F(Evaluate, AnOutputThatIsNotWrittenIsSeen) {
  expect_failure({.after = "args->out[5] = 0x7fc3;"}, "consistency", "did not write out[row 0, head 0, 5]");
}
TEST_F(Evaluate, NaNIsNoOutput) { expect_failure({.after = "args->out[5] = 0x7fc0;"}, "consistency", "wrote NaN"); }
TEST_F(Evaluate, OtherBitsInDecodeAloneAreSeen) {
  expect_failure({.after = "if (entry == 2) args->out[7] ^= 1;"}, "consistency", "decode differs from full");
}
TEST_F(Evaluate, OtherBitsInExtendAloneAreSeen) {
  expect_failure({.after = "if (entry == 1) args->out[7] ^= 1;"}, "consistency", "extend differs from full");
}
TEST_F(Evaluate, OtherBitsInTheLogSumExpAreSeen) {
  expect_failure({.after = "if (entry == 2) reinterpret_cast<int*>(args->lse)[0] += 1;"}, "consistency", "lse[head 0]");
}
TEST_F(Evaluate, TwoPathsThatAreWrongAlikeAreSeen) {
  expect_failure({.scale = "args->shape.softmax_scale * 1.05f"}, "accuracy", "too far from the float64 reference");
}
TEST_F(Evaluate, ResultsRememberedByAPartOfTheInputsAreSeen) {
  char const* const remember = R"(
  static tik_bf16 known = 0; static tik_bf16* copy = nullptr; static float* sums = nullptr; static int rows = 0, kind = 0;
  int const count = entry == 2 ? args->batch : args->query_offsets[args->batch];
  if (known == args->queries[0] && rows == count && kind == entry) {
    for (int row = 0; row < count; ++row) for (int head = 0; head < args->shape.query_heads; ++head) {
      long const at = row * args->shape.query_heads + head;
      for (int d = 0; d < args->shape.head_dim; ++d) {
        args->out[row * args->out_token_stride + head * args->out_head_stride + d] = copy[at * args->shape.head_dim + d];
      }
      args->lse[at] = sums[at];
    }
    return TIK_OK;
  })";
  char const* const keep = R"(
  copy = static_cast<tik_bf16*>(realloc(copy, 2L * count * args->shape.query_heads * args->shape.head_dim));
  sums = static_cast<float*>(realloc(sums, 4L * count * args->shape.query_heads));
  for (int row = 0; row < count; ++row) for (int head = 0; head < args->shape.query_heads; ++head) {
    long const at = row * args->shape.query_heads + head;
    for (int d = 0; d < args->shape.head_dim; ++d) {
      copy[at * args->shape.head_dim + d] = args->out[row * args->out_token_stride + head * args->out_head_stride + d];
    }
    sums[at] = args->lse[at];
  }
  known = args->queries[0]; rows = count; kind = entry;)";
  expect_failure({.declarations = "#include <stdlib.h>", .before = remember, .after = keep}, "robustness", "changed in place");
}
TEST_F(Evaluate, OtherWorkAfterManyCallsIsSeen) {
  expect_failure({.after = "static int calls = 0; if (++calls > 20) args->out[0] ^= 1;"}, "consistency", "differs from full");
}
TEST_F(Evaluate, AHeadThatDependsOnTheBatchIsSeen) {
  expect_failure({.after = "if (args->batch > 1) args->out[0] ^= 1;"}, "consistency", "differs from full");
}

TEST_F(Evaluate, AClockThatTheCandidatePatchedIsSeen) {
#if TIK_SANITIZED
  GTEST_SKIP() << "a program with a sanitizer reads the clock through the sanitizer, where the patch does not reach";
#endif
  fs::path const cheats = fs::path(TIK_SOURCE_DIR) / "tests/cheat/candidates";
  std::string const patch = read_file(cheats / "patch.h").value() + read_file(cheats / "slow_clock.h").value();
  expect_failure({.declarations = patch, .on_load = "patch_program(\"clock_gettime\", reinterpret_cast<void*>(slow_clock));"},
                 "measurement", "more were seen from outside it");
}

// The worker's socket is open in the candidate's process, so it can be misused; the parent must not be impressed.

std::string as_array(std::string const& bytes) {
  std::string text;
  for (char const byte : bytes) text += std::to_string(static_cast<int>(static_cast<signed char>(byte))) + ", ";
  return text;
}

TEST_F(Evaluate, AForgedReplyDoesNotPassForACall) {
  std::string const forged = as_array(encode_reply(DoneReply{0, 1000, 1000, ""}));
  expect_failure({.declarations = "#include <sys/socket.h>\nstatic signed char const forged[] = {" + forged + "};",
                  .after = "send(6, forged, sizeof forged, 0);"},
                 "consistency", "with something else");
}
TEST_F(Evaluate, NonsenseFromTheWorkerFails) {
  expect_failure({.declarations = "#include <sys/socket.h>", .before = "send(6, \"nonsense\", 8, 0);"}, "consistency",
                 "no message");
}
TEST_F(Evaluate, AWorkerThatHangsUpFails) {
  expect_failure({.declarations = "#include <unistd.h>", .before = "close(6); for (;;) asm volatile(\"\");"}, "consistency",
                 "stopped answering");
}

} // namespace
} // namespace tik::evaluator
