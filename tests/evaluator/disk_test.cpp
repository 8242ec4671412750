// A disk that is full: it must not be taken for a candidate that does not build.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "src/evaluator/evaluator.h"
#include "src/evaluator/scratch.h"
#include "src/spec/specification.h"
#include "tests/evaluator/candidates.h"
#include "tests/evaluator/worker_main.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;

enum Ending { machine_fault, candidate_fault, verified, not_possible, other_fault };

// Evaluates in a process of its own, whose scratch folder is a file system of `megabytes` that nobody else sees. `build` is a
// command in place of the compiler.
Ending evaluate_on_disk(int megabytes, std::string const& build) {
  ScratchFolder const folder = ScratchFolder::temporary("disk-test").value();
  write_candidate(folder.path() / "candidate", {.build = build});
  fs::path const disk = folder.path() / "disk";
  fs::create_directory(disk);
  pid_t const child = fork();
  if (child == 0) {
    std::string const size = "size=" + std::to_string(megabytes) + "m";
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("disk", disk.c_str(), "tmpfs", 0, size.c_str()) != 0)
      _exit(not_possible);
    auto const specification = spec::parse_specification(small_specification(20, 60), "small.toml").value();
    Result<Report> const report = evaluate({.specification = specification,
                                            .seal = spec::seal(specification),
                                            .source = folder.path() / "candidate",
                                            .incumbent = std::nullopt,
                                            .incumbent_latency_us = {},
                                            .scratch = disk,
                                            .build_cache = {},
                                            .progress = {},
                                            .cancel = nullptr});
    if (report) _exit(report->verified() ? verified : candidate_fault);
    bool const told = report.error().kind == ErrorKind::machine &&
                      report.error().message.find("free space and run again") != std::string::npos;
    _exit(told ? machine_fault : other_fault);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) <= other_fault ? static_cast<Ending>(WEXITSTATUS(status)) : other_fault;
}

#define NEEDS_A_FILE_SYSTEM(ending) \
  if ((ending) == not_possible) GTEST_SKIP() << "only the superuser may mount a file system"

TEST(Disk, WithRoomACandidateIsVerified) {
  Ending const ending = evaluate_on_disk(300, "");
  NEEDS_A_FILE_SYSTEM(ending);
  EXPECT_EQ(ending, verified);
}

TEST(Disk, WithoutRoomNothingIsSaidOfTheCandidate) {
  Ending const ending = evaluate_on_disk(30, "");
  NEEDS_A_FILE_SYSTEM(ending);
  EXPECT_EQ(ending, machine_fault);
}

TEST(Disk, ABuildThatFillsItFails) {
  Ending const ending =
      evaluate_on_disk(100, "for i in 1 2 3 4 5; do head -c 30000000 /dev/zero > $(dirname $0)/$i || exit 1; done");
  NEEDS_A_FILE_SYSTEM(ending);
  EXPECT_EQ(ending, candidate_fault);
}

} // namespace
} // namespace tik::evaluator
