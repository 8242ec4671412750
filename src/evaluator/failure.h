// How a stage ends early: by the candidate's fault (it goes into the report) or because this machine cannot go on (no report).
#pragma once

#include <string>

#include "src/evaluator/report.h"

namespace tik::evaluator {

struct Failure {
  std::string message;             // a sentence
  Json details = Json::object();   // for the report
  std::optional<Error> error = {}; // set: not the candidate's fault
};

template <class T>
using Checked = tl::expected<T, Failure>;

// The candidate did something wrong.
inline tl::unexpected<Failure> candidate_failure(std::string message, Json details = Json::object()) {
  return tl::unexpected(Failure{std::move(message), std::move(details), std::nullopt});
}
// The evaluation cannot go on.
inline tl::unexpected<Failure> machine_failure(Error error) {
  std::string message = error.message;
  return tl::unexpected(Failure{std::move(message), Json::object(), std::move(error)});
}

} // namespace tik::evaluator
