// Errors as values: a sentence for a person that says what was wrong, where, and what to do.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace tik {

// Who has to act. The command line turns it into an exit code.
enum class ErrorKind {
  input,     // the caller's: a file, a key, an id, an action against the rules (exit code 2)
  machine,   // the environment's: disk full, no compiler, no permission (exit code 3)
  damage,    // stored data that is not what was written (exit code 4)
  cancelled, // the user stopped it (exit code 130)
};

struct Error {
  ErrorKind kind = ErrorKind::input;
  std::string
      message; // complete sentence(s), with the place in front where there is one: "spec.toml:12: [measurement] rounds: ..."
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> input_error(std::string message) {
  return tl::unexpected(Error{ErrorKind::input, std::move(message)});
}
inline tl::unexpected<Error> machine_error(std::string message) {
  return tl::unexpected(Error{ErrorKind::machine, std::move(message)});
}
inline tl::unexpected<Error> damage_error(std::string message) {
  return tl::unexpected(Error{ErrorKind::damage, std::move(message)});
}

} // namespace tik

// Hands an error on: TIK_TRY(auto x, f()); declares x or returns f()'s error.
#define TIK_CONCAT_INNER(a, b) a##b
#define TIK_CONCAT(a, b) TIK_CONCAT_INNER(a, b)
#define TIK_TRY(declaration, expression)                                                                               \
  auto TIK_CONCAT(tik_result_, __LINE__) = (expression);                                                               \
  if (!TIK_CONCAT(tik_result_, __LINE__)) return tl::unexpected(std::move(TIK_CONCAT(tik_result_, __LINE__).error())); \
  declaration = std::move(*TIK_CONCAT(tik_result_, __LINE__))
#define TIK_CHECK(expression) \
  if (auto tik_checked = (expression); !tik_checked) return tl::unexpected(std::move(tik_checked.error()))
