// Processors of this machine, shared out among evaluations that run at the same time.
#pragma once

#include <cstddef>

#include "src/base/error.h"

namespace tik::evaluator {

// Restricts the calling thread, and every thread and process that it starts from now on, to part `index` of `count` equal parts
// of the processors that it may run on. An input error when there are fewer than `count`.
Result<void> take_processors(std::size_t index, std::size_t count);

} // namespace tik::evaluator
