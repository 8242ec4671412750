#include "src/spec/document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "src/base/files.h"

namespace tik::spec {
namespace {

int line_of(toml::node const& node) { return std::max(1, static_cast<int>(node.source().begin.line)); }

TomlNode convert(toml::node const& node) {
  TomlNode result{.value = TomlDate{}, .line = line_of(node)};
  if (auto const* table = node.as_table()) {
    TomlTable entries;
    for (auto const& [key, value] : *table) {
      entries.entries.push_back({std::string(key.str()), convert(value)});
      // An implicit table ([a.b] without [a]) has no place of its own: its first child's stands in.
      if (node.source().begin.line == 0) result.line = entries.entries.front().node.line;
    }
    result.value = std::move(entries);
  } else if (auto const* array = node.as_array()) {
    TomlArray items;
    for (auto const& value : *array) items.items.push_back(convert(value));
    if (node.source().begin.line == 0 && !items.items.empty()) result.line = items.items.front().line;
    result.value = std::move(items);
  } else if (auto const* text = node.as_string()) {
    result.value = text->get();
  } else if (auto const* integer = node.as_integer()) {
    result.value = integer->get();
  } else if (auto const* floating = node.as_floating_point()) {
    result.value = floating->get();
  } else if (auto const* boolean = node.as_boolean()) {
    result.value = boolean->get();
  }
  return result;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_key_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '+';
}

// Where the string that opens at `start` ends, one past its closing quotes.
std::size_t end_of_string(std::string_view text, std::size_t start) {
  char const quote = text[start];
  std::string const triple(3, quote);
  bool const multiline = text.substr(start, 3) == triple;
  std::size_t at = start + (multiline ? 3 : 1);
  while (at < text.size()) {
    if (text[at] == '\\' && quote == '"') {
      at += 2;
    } else if (multiline && text.substr(at, 3) == triple) {
      return at + 3;
    } else if (!multiline && (text[at] == quote || text[at] == '\n')) {
      return at + 1;
    } else {
      ++at;
    }
  }
  return text.size();
}

// Dots that join keys. Each may open one more level of tables, and the TOML library bounds the depth of values but not of keys.
int count_dotted_keys(std::string_view text) {
  int dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    char const c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
    } else if (is_key_character(c) || c == '.') {
      std::size_t const start = at;
      int run_dots = 0;
      for (; at < text.size() && (is_key_character(text[at]) || text[at] == '.'); ++at) run_dots += text[at] == '.';
      char const first = text[start];
      bool const number = (is_digit(first) || first == '+' || first == '-') && run_dots == 1;
      if (!number) dots += run_dots;
    } else {
      ++at;
    }
  }
  return dots;
}

} // namespace

TomlNode const* TomlTable::find(std::string_view key) const {
  for (auto const& entry : entries) {
    if (entry.key == key) return &entry.node;
  }
  return nullptr;
}

std::string_view type_name(TomlNode const& node) {
  static constexpr std::string_view names[] = {"a table",  "a list",        "a text",        "an integer",
                                               "a number", "true or false", "a date or time"};
  return names[node.value.index()];
}

Result<TomlNode> parse_document(std::string_view text, std::string const& file_name) {
  if (text.size() > largest_document_bytes) {
    return input_error(fmt::format("{}:1: the file has {} bytes, but at most {} are read: shorten it.", file_name, text.size(),
                                   largest_document_bytes));
  }
  if (int const dots = count_dotted_keys(text); dots > largest_dotted_keys) {
    return input_error(fmt::format("{}:1: the file joins keys by dots {} times, but at most {} are read: use [table] headers.",
                                   file_name, dots, largest_dotted_keys));
  }
  try {
    return convert(toml::parse(text, std::string_view(file_name)));
  } catch (toml::parse_error const& error) {
    int const line = std::max(1, static_cast<int>(error.source().begin.line));
    return input_error(fmt::format("{}:{}: not valid TOML: {}.", file_name, line, error.description()));
  }
}

Result<std::string> read_document(std::filesystem::path const& file) {
  std::error_code error;
  auto const status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status))
    return input_error(fmt::format("{}: there is no such file: check the path.", file.string()));
  if (!std::filesystem::is_regular_file(status))
    return input_error(fmt::format("{}: is not a regular file: name a TOML file.", file.string()));
  auto const bytes = std::filesystem::file_size(file, error);
  if (!error && bytes > largest_document_bytes) {
    return input_error(fmt::format("{}:1: the file has {} bytes, but at most {} are read: shorten it.", file.string(), bytes,
                                   largest_document_bytes));
  }
  return read_file(file);
}

} // namespace tik::spec
