// The sentence that a thread's last refused call left behind. One copy a backend, so that a program may hold several.
#pragma once

#include <string>

#include "operators/validation.h"

namespace tik::operators {

// A backend's own place for sentences; `Backend` is any type of that backend.
template <typename Backend>
struct LastError {
  static std::string& sentence() {
    thread_local std::string kept = "no call of this thread has failed";
    return kept;
  }

  // Keeps the sentence and returns the status, TIK_OK when there is no refusal.
  static tik_status keep(std::optional<Refusal> refusal) {
    if (!refusal) return TIK_OK;
    sentence() = std::move(refusal->sentence);
    return refusal->status;
  }
};

} // namespace tik::operators
