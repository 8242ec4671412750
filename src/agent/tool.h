// What a tool is: its name, what it does, and its arguments. One table is the source of the JSON schema, of the check before
// every call and of the documentation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/json.h"

namespace tik::agent {

// Longest text that an argument may hold, and most elements of a list.
inline constexpr std::size_t longest_argument = 400000, most_elements = 100;

struct Field {
  enum class Type { text, integer, boolean, texts, object, objects };
  std::string name;
  Type type = Type::text;
  std::string description;
  bool required = false;
  std::vector<std::string> choices = {};   // of a text, or of every one of texts; empty: any
  std::int64_t low = 0, high = 1000000000; // of an integer
  std::vector<Field> fields = {};          // of an object, or of every one of objects
  // For the schema alone: what is longer is taken, too, when it comes.
  std::size_t longest = 0;          // characters of a text; 0: any
  std::size_t most = most_elements; // elements of a list
};

struct Tool {
  enum class Effect { reads, edits, records }; // records: something is added to the search for good
  std::string name, title, description;
  Effect effect = Effect::reads;
  std::vector<Field> fields = {};
  std::vector<std::vector<std::string>> ways =
      {}; // for the schema alone: sets of arguments of which a call gives one; the handler refuses the rest
};

// JSON Schema (2020-12) of the arguments: an object that takes these properties and no others.
Json input_schema(Tool const& tool);

// The first thing that is wrong with the arguments: "edit: file: is missing; it is ...". A null counts as absent.
Result<void> check(Tool const& tool, Json const& arguments);

// The tools in Markdown, for people: a heading a tool, a table of its arguments.
std::string describe(std::vector<Tool> const& tools);

// Reads arguments that check() has passed. What is absent or null has the fallback.
class Arguments {
 public:
  explicit Arguments(Json const& json) : json_(json) {}
  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string text(std::string_view key, std::string fallback = "") const;
  std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  bool flag(std::string_view key, bool fallback = false) const;
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<Arguments> objects(std::string_view key) const;

 private:
  Json const* find(std::string_view key) const;
  Json const& json_;
};

} // namespace tik::agent
