// `make kill-test`: a real search killed with SIGKILL at random moments (in builds, workers, and between the single writes of
// records and sources) and resumed each time with the real `tik run`. After every kill `tik verify` must find nothing and every
// record that was acknowledged must be there, once.
//   kill_test KILLS [--seed N] [--result FILE] [--commit ID]
#include <fmt/format.h>
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

struct Options {
  int kills = 0;
  std::uint64_t seed = 1;
  std::string result, commit;
};

std::optional<Options> read_options(std::vector<std::string> const& words) {
  Options options;
  if (words.empty() || words.size() % 2 == 0) return std::nullopt;
  options.kills = std::atoi(words[0].c_str());
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    if (words[i] == "--seed")
      options.seed = std::strtoull(words[i + 1].c_str(), nullptr, 10);
    else if (words[i] == "--result")
      options.result = words[i + 1];
    else if (words[i] == "--commit")
      options.commit = words[i + 1];
    else
      return std::nullopt;
  }
  return options.kills > 0 ? std::optional(options) : std::nullopt;
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
  bool good() const { return lost + doubled + unsound + left_processes + failed_runs == 0; }
};

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

  evaluator::Json result() const {
    return {{"schema", 1},
            {"commit", options_.commit},
            {"command", fmt::format("make kill-test KILLS={}", options_.kills)},
            {"machine", evaluator::describe_machine({})},
            {"seconds", totals_.seconds},
            {"kills", totals_.kills},
            {"lost", totals_.lost},
            {"doubled", totals_.doubled},
            {"unsound_after_a_kill", totals_.unsound},
            {"processes_left_after_2_seconds", totals_.left_processes},
            {"resumes_that_failed", totals_.failed_runs},
            {"searches", totals_.searches},
            {"audited_offspring", totals_.steps},
            {"records", totals_.records},
            {"kills_by_moment", totals_.by_kind},
            {"kills_by_what_was_running_or_written", totals_.by_where}};
  }

 private:
  bool make_original() {
    std::string text = search::test::small_specification;
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

int run(Options const& options) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  KillTest test(options);
  bool const whole = test.run();
  if (!whole) fmt::print("The test could not go on.\n");
  if (!options.result.empty() && !write_file(options.result, test.result().dump(2) + "\n"))
    fmt::print(stderr, "kill_test: {} cannot be written\n", options.result);
  Totals const& totals = test.totals();
  for (auto const& [where, kills] : totals.by_where) fmt::print("{:<10} {}\n", where, kills);
  fmt::print("kill-test: {} kills, {} lost, {} doubled\n", totals.kills, totals.lost, totals.doubled);
  return whole && totals.good() ? 0 : 1;
}

} // namespace
} // namespace tik::kill

int main(int argc, char** argv) {
  auto const options = tik::kill::read_options({argv + 1, argv + argc});
  if (!options) return std::fprintf(stderr, "usage: kill_test KILLS [--seed N] [--result FILE] [--commit ID]\n"), 2;
  return tik::kill::run(*options);
}
