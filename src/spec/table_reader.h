// Reads a TOML table key by key with every check that a key needs, and remembers the first thing that is wrong.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spec/document.h"

namespace tik::spec {

// The word among `known` that `word` was probably meant to be; empty when none is near.
std::string_view near_miss(std::string_view word, std::vector<std::string_view> const& known);
// " (did you mean 'tokens'?)" or nothing.
std::string did_you_mean(std::string_view word, std::vector<std::string_view> const& known);
// "'a', 'b' and 'c'", for sentences.
std::string quoted_list(std::vector<std::string_view> const& words);

// The first problem of a file. Readers go on with default values after it, so the parsers need no branch at every key.
class Diagnosis {
 public:
  explicit Diagnosis(std::string file_name) : file_name_(std::move(file_name)) {}
  // `place` is the key as a person looks for it: "[shape] head_dim". `sentence` goes on behind "FILE:LINE: PLACE: ".
  void report(int line, std::string_view place, std::string_view sentence);
  bool failed() const { return error_.has_value(); }
  Error const& error() const { return *error_; }

 private:
  std::string file_name_;
  std::optional<Error> error_;
};

template <class T>
struct Range {
  T low, high;
};

class TableReader {
 public:
  // `name` is the table as the file writes it, "[shape]"; empty for the root. A key that is not among `known` is reported at
  // once.
  TableReader(TomlNode const& node, std::string name, std::vector<std::string_view> known, Diagnosis& diagnosis);

  // Every read reports a missing key (unless there is a fallback), a wrong type and a value out of range.
  std::int64_t integer(std::string_view key, Range<std::int64_t> range, std::optional<std::int64_t> fallback = {});
  double number(std::string_view key, Range<double> range, std::optional<double> fallback = {});
  // Greater than 0 and at most `highest`.
  double positive(std::string_view key, double highest, std::optional<double> fallback = {});
  bool boolean(std::string_view key, std::optional<bool> fallback = {});
  // At most `longest` bytes, no control characters but line ends and tabs; not empty unless the fallback is.
  std::string text(std::string_view key, std::size_t longest, std::optional<std::string> fallback = {});
  // One of `choices`, with a suggestion when it is nearly one.
  std::string choice(std::string_view key, std::vector<std::string_view> const& choices,
                     std::optional<std::string> fallback = {});
  // Lists have at most `most` items; at least one unless `may_be_empty` (then the key may be missing, too). Integers are all
  // different.
  std::vector<int> integers(std::string_view key, Range<std::int64_t> range, std::size_t most, bool may_be_empty = false);
  std::vector<std::string> texts(std::string_view key, std::size_t longest, std::size_t most, bool may_be_empty = false);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  int line() const { return line_; }
  // The line of a key, or of the table when it is not there.
  int line(std::string_view key) const;
  // Reports a problem of this key: "FILE:LINE: [table] key: SENTENCE".
  void report(std::string_view key, std::string_view sentence);

  // A table under `key`: its node, or nullptr after reporting what is there instead. A missing one is reported when `required`.
  TomlNode const* table(std::string_view key, bool required);
  // Calls `read` for every table of [[key]], with its node and its name "[[key]] #2". At most `most`.
  void tables(std::string_view key, std::size_t most, std::function<void(TomlNode const&, std::string const&)> const& read);

 private:
  TomlNode const* find(std::string_view key) const;
  TomlNode const* expect(std::string_view key, bool optional);
  std::string place(std::string_view key) const;
  template <class T>
  T const* typed(std::string_view key, bool optional, std::string_view wanted);
  std::vector<TomlNode> const* list(std::string_view key, std::size_t most, bool may_be_empty);
  bool check_text(std::string_view key, int line, std::string const& text, std::size_t longest);

  TomlTable const* table_ = nullptr;
  int line_ = 1;
  std::string name_;
  std::vector<std::string_view> known_;
  Diagnosis& diagnosis_;
};

} // namespace tik::spec
