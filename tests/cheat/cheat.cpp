// Every hostile candidate of tests/cheat/candidates/ before the evaluator: a table of outcomes, and how many were contained.
//   cheat [OPTION]... [NAME]...             all of the CPU or of the GPU, or those named
//   cheat [OPTION]... trial NAME RESULT     one candidate in this process; the verdict is written to the file RESULT
//     --gpu             those that attack on a GPU
//     --sources FOLDER  where this project's sources are
//     --builds FOLDER   keeps built libraries there, and takes those that are there
//     --only-build      builds them, side by side, and tries none
//     --result FILE     what became of them, as JSON; --commit ID is what it says of the sources
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
#include "src/base/sanitized.h"
#include "src/evaluator/evaluator.h"
#include "src/evaluator/machine.h"
#include "src/evaluator/nvml.h"
#include "src/evaluator/sandbox.h"
#include "src/evaluator/scratch.h"
#include "tests/cheat/trial.h"
#include "tests/evaluator/leftovers.h"

namespace tik::cheat {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t trials_at_once = 2, builds_at_once = 8;
constexpr double trial_seconds = 120; // more than the sum of all limits of a candidate that fails

// The options before the names.
struct Options {
  bool gpu = false, only_build = false;
  fs::path sources = TIK_SOURCE_DIR, builds, result;
  std::string commit;
  Ground ground() const { return gpu ? gpu_ground(sources) : cpu_ground(sources); }
  // On a GPU one at a time: they would be timed beside each other.
  std::size_t at_once() const { return only_build ? builds_at_once : gpu ? 1 : trials_at_once; }
  // For a process that tries one candidate.
  std::vector<std::string> words() const {
    std::vector<std::string> words = {"--sources", sources.string()};
    if (gpu) words.emplace_back("--gpu");
    if (only_build) words.emplace_back("--only-build");
    if (!builds.empty()) words.insert(words.end(), {"--builds", builds.string()});
    return words;
  }
};

// Takes the options off the front of the arguments.
Options take_options(std::vector<std::string>& arguments) {
  Options options;
  std::map<std::string, fs::path Options::*> const folders = {
      {"--sources", &Options::sources}, {"--builds", &Options::builds}, {"--result", &Options::result}};
  std::size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with("--"); ++at) {
    std::string const& name = arguments[at];
    if (name == "--gpu") {
      options.gpu = true;
    } else if (name == "--only-build") {
      options.only_build = true;
    } else if (name == "--commit" && at + 1 < arguments.size()) {
      options.commit = arguments[++at];
    } else if (auto const folder = folders.find(name); folder != folders.end() && at + 1 < arguments.size()) {
      options.*folder->second = fs::absolute(arguments[++at]);
    } else {
      break;
    }
  }
  arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(at));
  return options;
}

int run_trial(Options const& options, std::string const& name, fs::path const& result) {
  auto const verdict = [&]() -> Result<Verdict> {
    Ground const ground = options.ground();
    TIK_TRY(Candidate const candidate, load_candidate(ground.candidates, name));
    return options.only_build ? build_candidate(candidate, ground, options.builds)
                              : try_candidate(candidate, ground, options.builds);
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
      while (next < names.size() && running_.size() < options_.at_once()) start(names[next++]);
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
    std::vector<std::string> words = options_.words();
    words.insert(words.begin(), "cheat");
    words.insert(words.end(), {"trial", name, (folder_ / name).string()});
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

struct Tally {
  std::size_t hostile = 0, contained = 0, verified = 0, sound = 0;
};
Tally count(std::map<std::string, Verdict> const& verdicts) {
  Tally tally;
  for (auto const& [name, verdict] : verdicts) {
    tally.sound += verdict.findings.empty() ? 1 : 0;
    if (verdict.honest) continue;
    tally.hostile += 1;
    tally.contained += verdict.findings.empty() ? 1 : 0;
    tally.verified += verdict.verified ? 1 : 0;
  }
  return tally;
}

evaluator::Json result_json(Options const& options, std::map<std::string, Verdict> const& verdicts) {
  evaluator::Json machine = evaluator::describe_machine({});
  if (options.gpu) {
    if (Result<evaluator::GpuMonitor> const gpu = evaluator::GpuMonitor::open()) machine["gpu"] = gpu->identity();
  }
  Tally const tally = count(verdicts);
  evaluator::Json json = {{"schema", 1},
                          {"commit", options.commit},
                          {"command", options.gpu ? "make cheat-test-gpu" : "make cheat-test"},
                          {"started_at", utc_now()},
                          {"machine", machine},
                          {"hostile", tally.hostile},
                          {"contained", tally.contained},
                          {"verified", tally.verified}};
  for (auto const& [name, verdict] : verdicts) {
    json["candidates"][name] = to_json(verdict);
    if (auto const candidate = load_candidate(options.ground().candidates, name))
      json["candidates"][name]["what"] = candidate->what;
  }
  return json;
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
  if (!options.builds.empty()) fs::create_directories(options.builds);
  std::map<std::string, Verdict> const verdicts = Trials(options, folder->path()).run(names);
  Tally const tally = count(verdicts);
  std::vector<std::string> const left = evaluator::left_processes();
  for (std::string const& process : left) fmt::print("    LEFT BEHIND: {}\n", process);
  if (!options.only_build)
    fmt::print("cheat-test: {} of {} contained, {} verified\n", tally.contained, tally.hostile, tally.verified);
  if (!options.result.empty() && !write_file(options.result, result_json(options, verdicts).dump(1) + "\n"))
    return fmt::print(stderr, "{}: cannot be written.\n", options.result.string()), 3;
  return tally.sound == names.size() && left.empty() ? 0 : 1;
}

} // namespace
} // namespace tik::cheat

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "evaluator-worker") return tik::evaluator::worker_main(argc, argv);
  tik::cheat::Options const options = tik::cheat::take_options(arguments);
  if (arguments.size() == 3 && arguments[0] == "trial") return tik::cheat::run_trial(options, arguments[1], arguments[2]);
  if (TIK_SANITIZED && arguments.empty()) {
    std::printf(
        "skipped: a sanitizer stands between a candidate and what it attacks; name candidates to try them all the same\n");
    return 77;
  }
  return tik::cheat::run_all(options, arguments);
}
