// What every worker has: the two regions that the parent shares with it, and the socket.
#pragma once

#include <time.h>

#include <optional>

#include "src/evaluator/wire.h"

namespace tik::evaluator {

// A region of shared memory at an address of this process's choosing.
struct Mapping {
  char* base = nullptr;
  std::size_t size = 0;
};

struct WorkerMemory {
  Mapping input, output;
};

// Maps the regions that the launcher handed down: inputs for reading only.
std::optional<WorkerMemory> map_memory();

// From now on a memory fault is reported with its place before it ends the process.
void watch_faults(WorkerMemory const& memory);

void send_reply(Reply const& reply);
// The next request; nothing when the parent has closed the socket or a message cannot be read.
std::optional<WorkerRequest> receive_request();

std::uint64_t nanoseconds(clockid_t clock);

} // namespace tik::evaluator
