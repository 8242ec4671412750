// Requests and the memory that they are about as files: a worker without a parent serves them in order. That is how a profiler
// can watch one.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "src/evaluator/wire.h"
#include "src/evaluator/worker_memory.h"

namespace tik::evaluator {

// `tik evaluator-worker tape FOLDER` serves the tape in the folder.
inline constexpr std::string_view tape_role = "tape";

struct Tape {
  std::vector<WorkerRequest> requests;
  WorkerMemory memory; // both regions may be written; nothing of it reaches the files
};

// Writes requests and the used parts of the regions into an existing folder.
Result<void> write_tape(std::filesystem::path const& folder, std::vector<WorkerRequest> const& requests,
                        std::span<std::byte const> input, std::span<std::byte const> output);

// The regions stay mapped as long as the process.
Result<Tape> read_tape(std::filesystem::path const& folder);

} // namespace tik::evaluator
