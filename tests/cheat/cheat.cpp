// Every hostile candidate of tests/cheat/candidates/ before the evaluator: a table of outcomes, and how many were contained.
//   cheat [--gpu] [--sources FOLDER] [NAME]...   all of the CPU or of the GPU, or those named
//   cheat [--gpu] [--sources FOLDER] trial NAME RESULT   one candidate in this process; the verdict is written to the file
//   RESULT
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string_view>
#include <thread>

#include "src/base/files.h"
#include "src/evaluator/evaluator.h"
#include "src/evaluator/sandbox.h"
#include "src/evaluator/scratch.h"
#include "tests/cheat/trial.h"
#include "tests/evaluator/leftovers.h"

namespace tik::cheat {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t trials_at_once = 2;
constexpr double trial_seconds = 120; // more than the sum of all limits of a candidate that fails

// The options before the names.
struct Options {
  bool gpu = false;
  fs::path sources = TIK_SOURCE_DIR;
  Ground ground() const { return gpu ? gpu_ground(sources) : cpu_ground(sources); }
};

int run_trial(Options const& options, std::string const& name, fs::path const& result) {
  auto const verdict = [&]() -> Result<Verdict> {
    Ground const ground = options.ground();
    TIK_TRY(Candidate const candidate, load_candidate(ground.candidates, name));
    return try_candidate(candidate, ground);
  }();
  if (!verdict) fmt::print(stderr, "{}: {}\n", name, verdict.error().message);
  return verdict && write_file(result, to_json(*verdict).dump()) ? 0 : 1;
}

// Runs trials in processes of their own, some at a time.
class Trials {
 public:
  Trials(Options options, fs::path folder) : options_(std::move(options)), folder_(std::move(folder)) {}

  std::map<std::string, Verdict> run(std::vector<std::string> const& names) {
    std::map<std::string, Verdict> verdicts;
    for (std::size_t next = 0; next < names.size() || !running_.empty();) {
      // One at a time on a GPU: they would be timed beside each other.
      while (next < names.size() && running_.size() < (options_.gpu ? 1 : trials_at_once)) start(names[next++]);
      int status = 0;
      pid_t const ended = waitpid(-1, &status, WNOHANG);
      if (auto const trial = running_.find(ended); trial != running_.end()) {
        verdicts[trial->second.name] = verdict(trial->second.name, status);
        print(trial->second.name, verdicts[trial->second.name]);
        running_.erase(trial);
      } else {
        stop_late();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    return verdicts;
  }

  static void print(std::string const& name, Verdict const& verdict) {
    constexpr std::size_t width = 110;
    std::string const outcome = verdict.outcome.size() > width ? verdict.outcome.substr(0, width - 3) + "..." : verdict.outcome;
    fmt::print("{:<28} {:<{}} {:6.1f}\n", name, outcome, width, verdict.seconds);
    for (std::string const& finding : verdict.findings) fmt::print("    NOT CONTAINED: {}\n", finding);
    std::fflush(stdout);
  }

 private:
  struct Running {
    std::string name;
    Clock::time_point begin;
  };

  void start(std::string const& name) {
    std::vector<std::string> words = {"cheat", "--sources", options_.sources.string(),
                                      "trial", name,        (folder_ / name).string()};
    if (options_.gpu) words.insert(words.begin() + 1, "--gpu");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    char* const* const arguments = pointers.data();
    pid_t process = -1;
    if (posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0) {
      running_[process] = {name, Clock::now()};
    } else {
      fmt::print(stderr, "{}: its trial cannot be started.\n", name);
    }
  }

  void stop_late() const {
    for (auto const& [process, trial] : running_) {
      if (std::chrono::duration<double>(Clock::now() - trial.begin).count() > trial_seconds) kill(process, SIGKILL);
    }
  }

  Verdict verdict(std::string const& name, int status) const {
    Result<std::string> const text = read_file(folder_ / name);
    if (text && WIFEXITED(status) && WEXITSTATUS(status) == 0) return verdict_from_json(evaluator::Json::parse(*text));
    std::string const end = WIFSIGNALED(status) ? fmt::format("was killed by signal {}", WTERMSIG(status)) : "failed";
    return {"no verdict", false, false, {fmt::format("its trial {}", end)}, 0};
  }

  Options options_;
  fs::path folder_;
  std::map<pid_t, Running> running_;
};

// Takes out and names the candidates that only a layer of protection contains which is off here: a fork bomb that no limit
// holds, for example, would harm this machine.
Result<void> leave_out(Options const& options, fs::path const& scratch, std::vector<std::string>& names) {
  TIK_TRY(evaluator::Protections const protections, evaluator::probe_protections(scratch));
  Ground const ground = options.ground();
  std::vector<std::string> kept;
  for (std::string const& name : names) {
    TIK_TRY(Candidate const candidate, load_candidate(ground.candidates, name));
    auto const off = std::find_if(candidate.needs.begin(), candidate.needs.end(), [&](std::string const& layer) {
      return std::find(protections.on.begin(), protections.on.end(), layer) == protections.on.end();
    });
    if (off == candidate.needs.end()) {
      kept.push_back(name);
    } else {
      fmt::print("{:<28} skipped: only {} contains it, which is off here\n", name, *off);
    }
  }
  names = std::move(kept);
  return {};
}

int run_all(Options const& options, std::vector<std::string> names) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (names.empty()) {
    auto all = candidate_names(options.ground().candidates);
    if (!all) return fmt::print(stderr, "{}\n", all.error().message), 2;
    names = std::move(*all);
  }
  auto const folder = ScratchFolder::temporary("cheat");
  if (!folder) return fmt::print(stderr, "{}\n", folder.error().message), 3;
  if (auto const left_out = leave_out(options, folder->path(), names); !left_out) {
    return fmt::print(stderr, "{}\n", left_out.error().message), 3;
  }
  std::map<std::string, Verdict> const verdicts = Trials(options, folder->path()).run(names);
  std::size_t hostile = 0, contained = 0, verified = 0, sound = 0;
  for (auto const& [name, verdict] : verdicts) {
    sound += verdict.findings.empty() ? 1 : 0;
    if (verdict.honest) continue;
    hostile += 1;
    contained += verdict.findings.empty() ? 1 : 0;
    verified += verdict.verified ? 1 : 0;
  }
  std::vector<std::string> const left = evaluator::left_processes();
  for (std::string const& process : left) fmt::print("    LEFT BEHIND: {}\n", process);
  fmt::print("cheat-test: {} of {} contained, {} verified\n", contained, hostile, verified);
  return sound == names.size() && left.empty() ? 0 : 1;
}

} // namespace
} // namespace tik::cheat

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "evaluator-worker") return tik::evaluator::worker_main(argc, argv);
  tik::cheat::Options options;
  if (!arguments.empty() && arguments[0] == "--gpu") {
    options.gpu = true;
    arguments.erase(arguments.begin());
  }
  if (arguments.size() >= 2 && arguments[0] == "--sources") {
    options.sources = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.size() == 3 && arguments[0] == "trial") return tik::cheat::run_trial(options, arguments[1], arguments[2]);
  return tik::cheat::run_all(options, arguments);
}
