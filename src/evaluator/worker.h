// The untrusted side: loads one candidate and executes requests on memory that the parent owns.
#pragma once

namespace tik::evaluator {

// Serves requests on the launcher's socket until it closes. Returns the exit code of the process.
int serve_requests();

} // namespace tik::evaluator
