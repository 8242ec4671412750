// A search killed with SIGKILL at random moments and resumed each time: no record that was acknowledged is lost, none counts
// twice, and every check of the records passes after every kill. TIK_KILLS sets the number of kills.
#include <signal.h>
#include <sys/wait.h>

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

// Runs the search in a child process for so long; returns what it acknowledged. 0 in `status` means that the search ended by
// itself.
std::vector<std::string> run_and_kill(std::filesystem::path const& folder, std::chrono::milliseconds delay, int& status) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t const child = fork();
  if (child == 0) {
    close(ends[0]);
    search_until_killed(folder, ends[1]);
  }
  close(ends[1]);
  std::this_thread::sleep_for(delay);
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  std::vector<std::string> lines;
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
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
    auto const delay = std::chrono::milliseconds(std::uniform_int_distribution(5, 3000)(random));
    std::vector<std::string> const lines = run_and_kill(folder(), delay, status);
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
