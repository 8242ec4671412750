// The untrusted side: loads one candidate and executes requests on memory that the parent owns.
#pragma once

namespace tik::evaluator {

// Serve requests on the launcher's socket until it closes, on the CPU or on a GPU. Return the exit code of the process.
int serve_requests();
int serve_device_requests();

// Serves the requests of a tape (tape.h) on a GPU, for a profiler to watch. Returns the exit code of the process.
int serve_tape(char const* folder);

// Makes a context on the GPU, uses it, and says on stdout what is wrong when it cannot. Returns the exit code of the process.
int try_device();

} // namespace tik::evaluator
