// What a step of a search costs besides building, running and the agent: commits, records, folds, lineage. A real search of a
// small specification is run for some steps; prints `engine_overhead_ms_median: X`.
//   engine_step_overhead [STEPS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "bench/engine/silent_observer.h"
#include "src/agent/builtin.h"
#include "src/base/scratch_folder.h"
#include "src/evaluator/evaluator.h"

namespace {

int fail(tik::Error const& error) {
  fmt::print(stderr, "engine_step_overhead: {}\n", error.message);
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "evaluator-worker") return tik::evaluator::worker_main(argc, argv);
  int const steps = argc > 1 ? std::max(1, std::atoi(argv[1])) : 12;
  std::filesystem::path const source = TIK_SOURCE_DIR;
  auto const folder = tik::ScratchFolder::temporary("tik-bench");
  if (!folder) return fail(folder.error());

  int result = 0;
  tik::bench::SilentObserver observer(steps);
  auto search = tik::search::Search::create(folder->path() / "search", source / "bench/engine/step_overhead.toml",
                                            source / "operators/attention/cpu", &observer, nullptr);
  if (!search) {
    result = fail(search.error());
  } else {
    auto const agent = tik::agent::make_builtin_agent(1);
    auto const reason = search->run(*agent, observer, observer.stop());
    if (!reason) result = fail(reason.error());
    std::vector<double> overheads;
    for (auto const& times : search->step_times()) overheads.push_back(times.engine_seconds() * 1e3);
    std::sort(overheads.begin(), overheads.end());
    if (overheads.empty()) {
      result = fail({tik::ErrorKind::machine, "the search took no step."});
    } else {
      fmt::print("engine_steps_measured: {}\n", overheads.size());
      fmt::print("engine_overhead_ms_median: {:.2f}\n", overheads[overheads.size() / 2]);
      fmt::print("engine_overhead_ms_smallest: {:.2f}\n", overheads.front());
      fmt::print("engine_overhead_ms_largest: {:.2f}\n", overheads.back());
    }
  }
  return result;
}
