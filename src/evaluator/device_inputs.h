// The inputs of a measurement on a GPU: memory full of drawn values over which the calls of all workloads are laid. Gigabytes
// of keys and values a workload each would take longer to write than to time.
#pragma once

#include <memory>

#include "src/evaluator/image.h"
#include "src/evaluator/stages.h"

namespace tik::evaluator {

// Memory that every worker of a measurement reads: drawn values in its first `need.value_bytes`.
Result<std::shared_ptr<SharedMemory>> draw_inputs(MemoryNeed const& need, DrawnValues const& values, Random& random);

// Draws new queries and, where `tokens_too`, some new keys and values of a call where they lie, and names the parts that
// changed.
std::vector<Extent> renew_in_place(Image const& image, bool tokens_too, DrawnValues const& values, Random& random);

} // namespace tik::evaluator
