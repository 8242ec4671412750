// `make kill-test`: a real search killed with SIGKILL at random moments (in builds, workers, and between the single writes of
// records and sources) and resumed each time with the real `tik run`. After every kill `tik verify` must find nothing and every
// record that was acknowledged must be there, once.
//   kill_test KILLS [--jobs N] [--seed N] [--result FILE] [--commit ID]     --jobs: so many searches at once
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "src/base/json.h"
#include "src/evaluator/machine.h"
#include "tests/kill/interruption.h"
#include "tests/kill/ledger.h"
#include "tests/search/small_search.h"

namespace tik::kill {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

using evaluator::Json;

struct Options {
  int kills = 0, jobs = 1;
  std::uint64_t seed = 1;
  std::string result, commit;
};

std::optional<Options> read_options(std::vector<std::string> const& words) {
  Options options;
  if (words.empty() || words.size() % 2 == 0) return std::nullopt;
  options.kills = std::atoi(words[0].c_str());
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    std::string const &name = words[i], &value = words[i + 1];
    if (name == "--jobs") {
      options.jobs = std::atoi(value.c_str());
    } else if (name == "--seed") {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--result") {
      options.result = value;
    } else if (name == "--commit") {
      options.commit = value;
    } else {
      return std::nullopt;
    }
  }
  return options.kills > 0 && options.jobs > 0 ? std::optional(options) : std::nullopt;
}

// A command to its end; its exit code.
int finish(std::string const& command) {
  int const status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The totals of the whole test.
struct Totals {
  int kills = 0, lost = 0, doubled = 0, unsound = 0, left_processes = 0, failed_runs = 0, searches = 0, steps = 0;
  std::size_t records = 0;
  std::map<std::string, int> by_kind, by_where;
  double seconds = 0;
};

Json to_json(Totals const& totals) {
  return {{"seconds", totals.seconds},
          {"kills", totals.kills},
          {"lost", totals.lost},
          {"doubled", totals.doubled},
          {"unsound_after_a_kill", totals.unsound},
          {"processes_left_after_2_seconds", totals.left_processes},
          {"resumes_that_failed", totals.failed_runs},
          {"searches", totals.searches},
          {"audited_offspring", totals.steps},
          {"records", totals.records},
          {"kills_by_moment", totals.by_kind},
          {"kills_by_what_was_running_or_written", totals.by_where}};
}

// Adds the numbers of `part` to those of `total`.
void add(Json& total, Json const& part) {
  if (total.is_null()) total = Json::object();
  for (auto const& [key, value] : part.items()) {
    if (value.is_object()) {
      add(total[key], value);
    } else if (key == "seconds") { // at the same time
      total[key] = std::max(total.value(key, 0.0), value.get<double>());
    } else {
      total[key] = total.value(key, 0) + value.get<int>();
    }
  }
}

class KillTest {
 public:
  explicit KillTest(Options options) : options_(std::move(options)), random_(options_.seed) {}

  // False when the test itself cannot go on.
  bool run() {
    auto const begin = Clock::now();
    if (!make_original()) return false;
    begin_search();
    while (totals_.kills < options_.kills && round()) {
    }
    end_search();
    totals_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return totals_.kills == options_.kills;
  }

  Totals const& totals() const { return totals_; }

 private:
  bool make_original() {
    std::string text = search::test::small_specification();
    std::string const patience = "patience = 30";
    text.replace(text.find(patience), patience.size(), "patience = 100000");
    if (!write_file(folder_.path() / "spec.toml", text)) return false;
    return finish(fmt::format("'{}' new '{}' --spec '{}' --root '{}' > /dev/null", TIK_BINARY,
                              (folder_.path() / "original").string(), (folder_.path() / "spec.toml").string(),
                              search::test::root_implementation().string())) == 0;
  }

  fs::path search() const { return folder_.path() / "search"; }

  void begin_search() {
    fs::remove_all(search());
    fs::copy(folder_.path() / "original", search(), fs::copy_options::recursive);
    ledger_ = {};
    totals_.searches += 1;
  }

  void end_search() {
    totals_.steps += ledger_.steps();
    totals_.records += ledger_.records();
  }

  // One run with its kill, and everything that must hold afterwards. False when the search cannot be read any more.
  bool round() {
    Moment const moment = draw_moment(random_, step_milliseconds_);
    int const steps_before = ledger_.steps();
    auto const begin = Clock::now();
    Interruption const interruption = run_and_kill(
        {TIK_BINARY, "run", search().string(), "--seed", std::to_string(totals_.searches)}, moment, search(), folder_.path());
    double const seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    count(moment, interruption);
    ledger_.read_lines(interruption.lines);
    if (!check()) return false;
    if (int const steps = ledger_.steps() - steps_before; steps > 0)
      step_milliseconds_ = static_cast<int>(0.8 * step_milliseconds_ + 0.2 * 1000 * seconds / steps);
    if (!interruption.killed) { // the agent found nothing more to do
      end_search();
      begin_search();
    }
    return true;
  }

  void count(Moment const& moment, Interruption const& interruption) {
    if (interruption.killed) {
      totals_.kills += 1;
      totals_.by_kind[std::string(to_string(moment.kind))] += 1;
      totals_.by_where[interruption.where] += 1;
    } else if (interruption.exit_code != 0) {
      totals_.failed_runs += 1;
      fmt::print("kill {}: tik run ended with exit code {}: {}\n", totals_.kills, interruption.exit_code, interruption.errors);
    }
    totals_.left_processes += interruption.left_processes;
    if (interruption.left_processes > 0)
      fmt::print("kill {} ({}): {} processes were left\n", totals_.kills, interruption.where, interruption.left_processes);
    if (totals_.kills % 20 == 0 && interruption.killed)
      fmt::print("{} kills, {} searches, {} steps\n", totals_.kills, totals_.searches, totals_.steps + ledger_.steps()),
          std::fflush(stdout);
  }

  bool check() {
    if (finish(fmt::format("'{}' verify '{}' > '{}' 2>&1", TIK_BINARY, search().string(),
                           (folder_.path() / "verified").string())) != 0) {
      totals_.unsound += 1;
      fmt::print("kill {}: {}\n", totals_.kills, read_file(folder_.path() / "verified").value_or(""));
    }
    Result<Ledger::Count> const compared = ledger_.compare(search());
    if (!compared) return fmt::print("kill {}: {}\n", totals_.kills, compared.error().message), false;
    totals_.lost += compared->lost;
    totals_.doubled += compared->doubled;
    if (compared->lost + compared->doubled > 0)
      fmt::print("kill {}: {} lost, {} doubled\n", totals_.kills, compared->lost, compared->doubled);
    return true;
  }

  Options options_;
  std::mt19937_64 random_;
  search::test::TemporaryFolder folder_;
  Ledger ledger_;
  Totals totals_;
  int step_milliseconds_ = 3000;
};

// One search after the other, in this process. Nothing when the test cannot go on.
std::optional<Json> run_here(Options const& options) {
  KillTest test(options);
  if (!test.run()) return std::nullopt;
  return to_json(test.totals());
}

// Several searches at once, each in a process of its own, because each looks for what it left behind. They leave their totals
// in files.
std::optional<Json> run_jobs(Options const& options) {
  search::test::TemporaryFolder const folder;
  std::vector<pid_t> jobs;
  auto const file = [&](int job) { return folder.path() / std::to_string(job); };
  for (int job = 0; job < options.jobs; ++job) {
    jobs.push_back(fork());
    if (jobs.back() != 0) continue;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Options part = options;
    part.kills = options.kills / options.jobs + (job < options.kills % options.jobs ? 1 : 0);
    part.seed = options.seed + static_cast<std::uint64_t>(job);
    std::optional<Json> const totals = part.kills > 0 ? run_here(part) : to_json(Totals{});
    std::fflush(stdout);
    _exit(totals && write_file(file(job), totals->dump()) ? 0 : 1);
  }
  Json total;
  bool whole = true;
  for (int job = 0; job < options.jobs; ++job) {
    int status = 0;
    waitpid(jobs[static_cast<std::size_t>(job)], &status, 0);
    auto const text = read_file(file(job));
    whole = whole && status == 0 && text;
    if (text) add(total, Json::parse(*text));
  }
  return whole ? std::optional(total) : std::nullopt;
}

int run(Options const& options) {
  std::optional<Json> const totals = run_jobs(options);
  if (!totals) return fmt::print("The test could not go on.\n"), 1;
  Json result = {{"schema", 1},
                 {"commit", options.commit},
                 {"command", fmt::format("make kill-test KILLS={}", options.kills)},
                 {"jobs", options.jobs},
                 {"machine", evaluator::describe_machine({})}};
  result.update(*totals);
  if (!options.result.empty() && !write_file(options.result, result.dump(2) + "\n"))
    fmt::print(stderr, "kill_test: {} cannot be written\n", options.result);
  for (auto const& [where, kills] : result["kills_by_what_was_running_or_written"].items())
    fmt::print("{:<10} {}\n", where, kills.get<int>());
  int faults = 0;
  for (char const* const fault :
       {"lost", "doubled", "unsound_after_a_kill", "processes_left_after_2_seconds", "resumes_that_failed"})
    faults += result[fault].get<int>();
  fmt::print("kill-test: {} kills, {} lost, {} doubled\n", result["kills"].get<int>(), result["lost"].get<int>(),
             result["doubled"].get<int>());
  return faults == 0 ? 0 : 1;
}

} // namespace
} // namespace tik::kill

int main(int argc, char** argv) {
  auto const options = tik::kill::read_options({argv + 1, argv + argc});
  if (!options) return std::fprintf(stderr, "usage: kill_test KILLS [--jobs N] [--seed N] [--result FILE] [--commit ID]\n"), 2;
  return tik::kill::run(*options);
}
