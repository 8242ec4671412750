// What a step of a search costs besides building, running and the agent: commits, records, folds, lineage. A real search of a
// small specification is run for some steps; prints `engine_overhead_ms_median: X`.
//   engine_step_overhead [STEPS]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "src/agent/builtin.h"
#include "src/evaluator/evaluator.h"
#include "src/search/search.h"

namespace {

struct Silent : tik::search::Observer {
  void stage(std::string_view, double) override {}
  void acted(tik::ir::Action const&) override {}
  void audited(tik::ir::Audit const&, tik::search::State const&, bool) override {}
  void decided(tik::ir::LineageDecision const&) override {}
};

// Stops the run after some audits.
struct StopAfter : Silent {
  StopAfter(int steps, std::atomic<bool>& stop) : steps_left(steps), stop(stop) {}
  void decided(tik::ir::LineageDecision const&) override {
    if (--steps_left <= 0) stop = true;
  }
  int steps_left;
  std::atomic<bool>& stop;
};

int fail(tik::Error const& error) {
  fmt::print(stderr, "engine_step_overhead: {}\n", error.message);
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "evaluator-worker") return tik::evaluator::worker_main(argc, argv);
  int const steps = argc > 1 ? std::max(1, std::atoi(argv[1])) : 12;
  std::filesystem::path const source = TIK_SOURCE_DIR;
  std::string name = (std::filesystem::temp_directory_path() / "tik-bench-XXXXXX").string();
  if (!mkdtemp(name.data())) return fail({tik::ErrorKind::machine, "no temporary folder can be made."});
  std::filesystem::path const folder = name;

  int result = 0;
  {
    std::atomic<bool> stop = false;
    Silent silent;
    auto search = tik::search::Search::create(folder / "search", source / "bench/engine/step_overhead.toml",
                                              source / "operators/attention/cpu", &silent, nullptr);
    if (!search) {
      result = fail(search.error());
    } else {
      auto const agent = tik::agent::make_builtin_agent(1);
      StopAfter observer(steps, stop);
      auto const reason = search->run(*agent, observer, stop);
      if (!reason) result = fail(reason.error());
      std::vector<double> overheads;
      for (auto const& times : search->step_times()) overheads.push_back(times.engine_seconds() * 1e3);
      std::sort(overheads.begin(), overheads.end());
      if (overheads.empty()) {
        result = fail({tik::ErrorKind::machine, "the search took no step."});
      } else {
        fmt::print("engine_steps_measured: {}\n", overheads.size());
        fmt::print("engine_overhead_ms_median: {:.2f}\n", overheads[overheads.size() / 2]);
        fmt::print("engine_overhead_ms_largest: {:.2f}\n", overheads.back());
      }
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}
