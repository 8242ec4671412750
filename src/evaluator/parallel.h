// Parts of a stage side by side, each with workers of its own.
#pragma once

#include <future>
#include <vector>

#include "src/evaluator/stages.h"

namespace tik::evaluator {

// On the CPU one after the other: workers are pinned and timed there, and the processors belong to them. A GPU's checks spend
// their time in the parent.
inline std::size_t groups_of(StageContext const& context) { return context.gpu() ? 4 : 1; }

// Runs part(0) .. part(count - 1); the failure of the first that failed.
template <class Part>
Checked<void> in_parallel(std::size_t count, Part part) {
  std::vector<std::future<Checked<void>>> running;
  for (std::size_t i = 1; i < count; ++i) running.push_back(std::async(std::launch::async, part, i));
  Checked<void> result = count > 0 ? part(0) : Checked<void>{};
  for (std::future<Checked<void>>& each : running) {
    Checked<void> other = each.get();
    if (result && !other) result = std::move(other);
  }
  return result;
}

} // namespace tik::evaluator
