// A search killed with SIGKILL, at random moments and right after records, and resumed each time: no record that was
// acknowledged is lost, none counts twice, and every check of the records passes after every kill. TIK_KILLS sets the number of
// kills.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "src/agent/builtin.h"
#include "src/search/verify.h"
#include "tests/search/scripted_agent.h"
#include "tests/search/small_search.h"
#include "tests/search/worker_main.h"

namespace tik::search::test {
namespace {

using Crash = SmallSearch;

// Tells the parent process of every record that the search has acknowledged, one line each.
class Acknowledging : public Observer {
 public:
  explicit Acknowledging(int pipe) : pipe_(pipe) {}
  void stage(std::string_view, double) override {}
  void acted(ir::Action const& action) override { tell(to_string(action.id)); }
  void audited(ir::Audit const& audit, State const&, bool) override { tell(to_string(audit.id)); }
  void decided(ir::LineageDecision const& decision) override { tell(to_string(decision.id)); }

 private:
  void tell(std::string const& id) const {
    std::string const line = id + "\n";
    if (write(pipe_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(3);
  }
  int pipe_;
};

[[noreturn]] void search_until_killed(std::filesystem::path const& folder, int pipe) {
  auto search = Search::open(folder, Search::Mode::write);
  if (!search) {
    std::fprintf(stderr, "%s\n", search.error().message.c_str());
    _exit(1);
  }
  auto const agent = agent::make_builtin_agent(1);
  Acknowledging observer(pipe);
  std::atomic<bool> const never = false;
  auto const reason = search->run(*agent, observer, never);
  if (!reason) std::fprintf(stderr, "%s\n", reason.error().message.c_str());
  _exit(reason ? 0 : 1);
}

// When to kill: so many milliseconds after the start or, where `records` is positive, after that many acknowledged records.
struct Moment {
  int records = 0;
  int milliseconds = 0;
};

// What comes through the pipe, line by line, until the moment has come or nothing more comes.
void listen(int pipe, Moment const& moment, std::string& text) {
  auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  char buffer[4096];
  while (std::count(text.begin(), text.end(), '\n') < moment.records && std::chrono::steady_clock::now() < until) {
    pollfd ready{pipe, POLLIN, 0};
    if (poll(&ready, 1, 100) <= 0) continue;
    ssize_t const size = read(pipe, buffer, sizeof buffer);
    if (size <= 0) return;
    text.append(buffer, static_cast<std::size_t>(size));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(moment.milliseconds));
}

// Runs the search in a child process and kills it; returns what it acknowledged. `status` is the child's.
std::vector<std::string> run_and_kill(std::filesystem::path const& folder, Moment const& moment, int& status) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t const child = fork();
  if (child == 0) {
    close(ends[0]);
    search_until_killed(folder, ends[1]);
  }
  close(ends[1]);
  std::string text;
  listen(ends[0], moment, text);
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  char buffer[4096];
  for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

bool is_recorded(ir::Store const& store, std::string const& id) {
  if (id[0] == 'A') return store.action(*ir::parse_id<'A'>(id)).has_value();
  if (id[0] == 'U') return store.audit(*ir::parse_id<'U'>(id)).has_value();
  return store.lineage_decision(*ir::parse_id<'L'>(id)).has_value();
}

// Audits beyond one for an implementation, and steps that are not one for each audited offspring.
int doubled(Search const& search) {
  int surplus = 0, audited = 0;
  for (auto const& [id, implementation] : search.state().implementations) {
    surplus += std::max(0, static_cast<int>(search.store().audits_of(id)->size()) - 1);
    audited += implementation.audited ? 1 : 0;
  }
  return surplus + std::abs(audited - 1 - search.state().steps);
}

TEST_F(Crash, KilledAnywhereTheSearchGoesOn) {
  char const* const wanted = std::getenv("TIK_KILLS");
  int const kills = wanted ? std::atoi(wanted) : 6;
  std::mt19937 random(20261129);
  int lost = 0, twice = 0, last_steps = 0;
  std::vector<std::string> acknowledged;
  for (int i = 0; i < kills; ++i) {
    int status = 0;
    Moment moment;
    if (i % 2 == 0)
      moment.milliseconds = std::uniform_int_distribution(1, 3000)(random);
    else
      moment = {std::uniform_int_distribution(1, 3)(random), std::uniform_int_distribution(0, 40)(random)};
    std::vector<std::string> const lines = run_and_kill(folder(), moment, status);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "the resumed search failed";
    acknowledged.insert(acknowledged.end(), lines.begin(), lines.end());
    auto const verification = verify(folder());
    ASSERT_TRUE(verification) << verification.error().message;
    for (ir::Finding const& finding : verification->findings)
      ADD_FAILURE() << "kill " << i << ": " << finding.place << ": " << finding.sentence;
    Search const search = open();
    for (std::string const& id : acknowledged) lost += is_recorded(search.store(), id) ? 0 : 1;
    twice += doubled(search);
    EXPECT_GE(search.state().steps, last_steps);
    last_steps = search.state().steps;
  }
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(twice, 0);
  std::printf("kill-test: %d kills, %d lost, %d doubled\n", kills, lost, twice);
}

} // namespace
} // namespace tik::search::test
