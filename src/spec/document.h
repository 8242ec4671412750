// A TOML text as plain values with their lines. The only place that knows the TOML library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/error.h"

namespace tik::spec {

struct TomlNode;
struct TomlEntry;

struct TomlDate {}; // dates and times are read and then refused: no key of TIK holds one
struct TomlArray {
  std::vector<TomlNode> items;
};
struct TomlTable {
  std::vector<TomlEntry> entries; // in the order of the keys' bytes

  TomlNode const* find(std::string_view key) const;
};

struct TomlNode {
  std::variant<TomlTable, TomlArray, std::string, std::int64_t, double, bool, TomlDate> value;
  int line = 1; // from 1
};

struct TomlEntry {
  std::string key;
  TomlNode node;
};

// What the value is, for sentences: "a text", "an integer", "a list".
std::string_view type_name(TomlNode const& node);

// Bounds that keep a hostile file from exhausting memory or stack.
inline constexpr std::size_t largest_document_bytes = 1 << 20;
inline constexpr int largest_dotted_keys = 512;

// The root table. The error is one sentence that starts with "FILE:LINE:".
Result<TomlNode> parse_document(std::string_view text, std::string const& file_name);

// The text of a regular file of at most largest_document_bytes.
Result<std::string> read_document(std::filesystem::path const& file);

} // namespace tik::spec
