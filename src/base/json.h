// Strict reading of JSON that others wrote: bounded parsing, and objects whose every key is expected, typed and read once.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"

namespace tik {

using Json = nlohmann::ordered_json;

// Nesting that bodies may have; deeper text is refused, because the JSON library walks values by recursion.
inline constexpr int largest_json_depth = 64;

// The value of a JSON text. Refuses what is not JSON, a key given twice and nesting beyond largest_json_depth; the sentence
// starts with "PLACE: " and names the byte.
Result<Json> parse_json(std::string_view text, std::string_view place);

// JSON text without spaces. Bytes that are not UTF-8 become U+FFFD.
std::string dump_json(Json const& json);

// Reads the fields of one object. The first problem is remembered and reading goes on with default values, so that callers need
// no branch at every field: ask finish() once, at the end. It also refuses keys that were never read.
class JsonFields {
 public:
  // `place` names the object in sentences: "audit U7".
  JsonFields(Json const& json, std::string place);

  std::string text(std::string_view key);
  bool flag(std::string_view key);
  double number(std::string_view key); // finite
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::vector<std::string> texts(std::string_view key);
  // An object of free content whose numbers are all finite.
  Json object(std::string_view key);
  Json const& array(std::string_view key);
  // Any value; null for a missing one.
  Json const& value(std::string_view key);
  // True when the key is there and not null; reads it as far as finish() is concerned.
  bool has(std::string_view key);

  std::string const& place() const { return place_; }
  // "PLACE.KEY: SENTENCE"
  void fail(std::string_view key, std::string_view sentence);
  void fail(Error error);
  bool failed() const { return problem_.has_value(); }

  template <class T>
  Result<T> finish(T value) {
    refuse_unread();
    if (problem_) return tl::unexpected(*problem_);
    return value;
  }

 private:
  Json const* find(std::string_view key);
  Json const* typed(std::string_view key, bool (*is)(Json const&), std::string_view wanted);
  void refuse_unread();

  Json const& json_;
  std::string place_;
  std::set<std::string, std::less<>> read_;
  std::optional<Error> problem_;
};

} // namespace tik
