#include "src/evaluator/processors.h"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace tik::evaluator {

Result<void> take_processors(std::size_t index, std::size_t count) {
  cpu_set_t allowed, part;
  CPU_ZERO(&allowed);
  CPU_ZERO(&part);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return machine_error(fmt::format("The processors of this machine cannot be read: {}.", std::strerror(errno)));
  std::vector<std::size_t> processors;
  for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &allowed)) processors.push_back(processor);
  if (processors.size() < count)
    return input_error(fmt::format("{} evaluations at a time need as many processors, and there are {}: name fewer devices.",
                                   count, processors.size()));
  std::size_t const begin = processors.size() * index / count, end = processors.size() * (index + 1) / count;
  for (std::size_t i = begin; i < end; ++i) CPU_SET(processors[i], &part);
  if (sched_setaffinity(0, sizeof part, &part) != 0)
    return machine_error(fmt::format("A thread cannot be kept on its processors: {}.", std::strerror(errno)));
  return {};
}

} // namespace tik::evaluator
