#include "src/spec/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tik::spec {
namespace {

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const replace = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      bool const swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

// A value from the file, short and printable enough for a sentence.
std::string shown(std::string_view text) {
  std::string result;
  for (char const c : text.substr(0, 60)) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (text.size() > 60) result += "...";
  return result;
}

} // namespace

std::string_view near_miss(std::string_view word, std::vector<std::string_view> const& known) {
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (auto const candidate : known) {
    std::size_t const distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::vector<std::string_view> const& known) {
  auto const meant = near_miss(word, known);
  return meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant);
}

std::string quoted_list(std::vector<std::string_view> const& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result += i + 1 == words.size() ? " and " : ", ";
    result += fmt::format("'{}'", words[i]);
  }
  return result;
}

void Diagnosis::report(int line, std::string_view place, std::string_view sentence) {
  if (error_) return;
  error_ = Error{ErrorKind::input, fmt::format("{}:{}: {}: {}", file_name_, line, shown(place), sentence)};
}

TableReader::TableReader(TomlNode const& node, std::string name, std::vector<std::string_view> known, Diagnosis& diagnosis)
    : table_(std::get_if<TomlTable>(&node.value)),
      line_(node.line),
      name_(std::move(name)),
      known_(std::move(known)),
      diagnosis_(diagnosis) {
  if (table_ == nullptr) {
    diagnosis_.report(line_, name_, fmt::format("is {}, but must be a table.", type_name(node)));
    return;
  }
  for (auto const& entry : table_->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    report(entry.key, fmt::format("no such key{}; known here: {}.", did_you_mean(entry.key, known_), quoted_list(known_)));
  }
}

TomlNode const* TableReader::find(std::string_view key) const { return table_ == nullptr ? nullptr : table_->find(key); }

int TableReader::line(std::string_view key) const {
  auto const* node = find(key);
  return node == nullptr ? line_ : node->line;
}

std::string TableReader::place(std::string_view key) const {
  return name_.empty() ? std::string(key) : fmt::format("{} {}", name_, key);
}

void TableReader::report(std::string_view key, std::string_view sentence) {
  diagnosis_.report(line(key), place(key), sentence);
}

TomlNode const* TableReader::expect(std::string_view key, bool optional) {
  auto const* node = find(key);
  if (node == nullptr && !optional && table_ != nullptr) report(key, "is missing: add it.");
  return node;
}

template <class T>
T const* TableReader::typed(std::string_view key, bool optional, std::string_view wanted) {
  auto const* node = expect(key, optional);
  if (node == nullptr) return nullptr;
  auto const* value = std::get_if<T>(&node->value);
  if (value == nullptr) report(key, fmt::format("is {}, but must be {}.", type_name(*node), wanted));
  return value;
}

std::int64_t TableReader::integer(std::string_view key, Range<std::int64_t> range, std::optional<std::int64_t> fallback) {
  auto const* value = typed<std::int64_t>(key, fallback.has_value(), "an integer");
  if (value == nullptr) return fallback.value_or(range.low);
  if (*value >= range.low && *value <= range.high) return *value;
  report(key, fmt::format("is {}, but must be between {} and {}.", *value, range.low, range.high));
  return range.low;
}

double TableReader::number(std::string_view key, Range<double> range, std::optional<double> fallback) {
  auto const* node = expect(key, fallback.has_value());
  if (node == nullptr) return fallback.value_or(range.low);
  double value = 0;
  if (auto const* integer = std::get_if<std::int64_t>(&node->value)) {
    value = static_cast<double>(*integer);
  } else if (auto const* floating = std::get_if<double>(&node->value)) {
    value = *floating;
  } else {
    report(key, fmt::format("is {}, but must be a number.", type_name(*node)));
    return range.low;
  }
  if (!std::isfinite(value)) {
    report(key, fmt::format("is {}, but must be a finite number between {} and {}.", value, range.low, range.high));
    return range.low;
  }
  if (value >= range.low && value <= range.high) return value;
  report(key, fmt::format("is {}, but must be between {} and {}.", value, range.low, range.high));
  return range.low;
}

double TableReader::positive(std::string_view key, double highest, std::optional<double> fallback) {
  double const value = number(key, {0, highest}, fallback);
  if (value <= 0 && has(key)) report(key, fmt::format("is {}, but must be greater than 0.", value));
  return value;
}

bool TableReader::boolean(std::string_view key, std::optional<bool> fallback) {
  auto const* value = typed<bool>(key, fallback.has_value(), "true or false");
  return value == nullptr ? fallback.value_or(false) : *value;
}

bool TableReader::check_text(std::string_view key, int line, std::string const& text, std::size_t longest) {
  if (text.size() > longest) {
    diagnosis_.report(line, place(key),
                      fmt::format("has {} bytes, but at most {} are allowed: shorten it.", text.size(), longest));
    return false;
  }
  auto const is_control = [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control)) {
    diagnosis_.report(line, place(key), "holds a control character: write printable text.");
    return false;
  }
  return true;
}

std::string TableReader::text(std::string_view key, std::size_t longest, std::optional<std::string> fallback) {
  auto const* value = typed<std::string>(key, fallback.has_value(), "a text in quotes");
  if (value == nullptr) return fallback.value_or("");
  if (value->empty() && !fallback.has_value()) report(key, "is empty: fill it in.");
  return check_text(key, line(key), *value, longest) ? *value : std::string();
}

std::string TableReader::choice(std::string_view key, std::vector<std::string_view> const& choices,
                                std::optional<std::string> fallback) {
  auto const* value = typed<std::string>(key, fallback.has_value(), "a text in quotes");
  if (value == nullptr) return fallback.value_or(std::string(choices.front()));
  if (std::find(choices.begin(), choices.end(), *value) != choices.end()) return *value;
  report(key, fmt::format("is '{}', which is not known{}; write one of {}.", shown(*value), did_you_mean(*value, choices),
                          quoted_list(choices)));
  return std::string(choices.front());
}

std::vector<TomlNode> const* TableReader::list(std::string_view key, std::size_t most, bool may_be_empty) {
  auto const* array = typed<TomlArray>(key, may_be_empty, "a list in brackets");
  if (array == nullptr) return nullptr;
  if (array->items.empty() && !may_be_empty) report(key, "is an empty list: give at least one item.");
  if (array->items.size() > most) {
    report(key, fmt::format("has {} items, but at most {} are allowed: shorten it.", array->items.size(), most));
    return nullptr;
  }
  return &array->items;
}

std::vector<int> TableReader::integers(std::string_view key, Range<std::int64_t> range, std::size_t most, bool may_be_empty) {
  std::vector<int> result;
  auto const* items = list(key, most, may_be_empty);
  if (items == nullptr) return result;
  for (auto const& item : *items) {
    auto const* value = std::get_if<std::int64_t>(&item.value);
    if (value == nullptr) {
      diagnosis_.report(item.line, place(key), fmt::format("holds {}, but every item must be an integer.", type_name(item)));
    } else if (*value < range.low || *value > range.high) {
      diagnosis_.report(item.line, place(key),
                        fmt::format("holds {}, but every item must be between {} and {}.", *value, range.low, range.high));
    } else if (std::find(result.begin(), result.end(), static_cast<int>(*value)) != result.end()) {
      diagnosis_.report(item.line, place(key), fmt::format("holds {} twice: list every value once.", *value));
    } else {
      result.push_back(static_cast<int>(*value));
    }
  }
  return result;
}

std::vector<std::string> TableReader::texts(std::string_view key, std::size_t longest, std::size_t most, bool may_be_empty) {
  std::vector<std::string> result;
  auto const* items = list(key, most, may_be_empty);
  if (items == nullptr) return result;
  for (auto const& item : *items) {
    auto const* value = std::get_if<std::string>(&item.value);
    if (value == nullptr) {
      diagnosis_.report(item.line, place(key),
                        fmt::format("holds {}, but every item must be a text in quotes.", type_name(item)));
    } else if (value->empty()) {
      diagnosis_.report(item.line, place(key), "holds an empty text: fill it in or drop it.");
    } else if (check_text(key, item.line, *value, longest)) {
      result.push_back(*value);
    }
  }
  return result;
}

TomlNode const* TableReader::table(std::string_view key, bool required) {
  auto const* node = find(key);
  std::string const header =
      name_.empty() ? fmt::format("[{}]", key) : fmt::format("{}.{}]", name_.substr(0, name_.size() - 1), key);
  if (node == nullptr) {
    if (required && table_ != nullptr) diagnosis_.report(line_, header, "is missing: add this table.");
    return nullptr;
  }
  if (std::holds_alternative<TomlTable>(node->value)) return node;
  diagnosis_.report(node->line, header, fmt::format("is {}, but must be a table.", type_name(*node)));
  return nullptr;
}

void TableReader::tables(std::string_view key, std::size_t most,
                         std::function<void(TomlNode const&, std::string const&)> const& read) {
  auto const* node = find(key);
  if (node == nullptr) return;
  std::string const header = name_.empty() ? fmt::format("[[{}]]", key) : place(key);
  auto const* array = std::get_if<TomlArray>(&node->value);
  if (array == nullptr) {
    diagnosis_.report(node->line, header,
                      fmt::format("is {}, but must be a list of tables with this header.", type_name(*node)));
    return;
  }
  if (array->items.size() > most) {
    diagnosis_.report(node->line, header,
                      fmt::format("is there {} times, but at most {} are allowed.", array->items.size(), most));
    return;
  }
  for (std::size_t i = 0; i < array->items.size(); ++i) read(array->items[i], fmt::format("{} #{}", header, i + 1));
}

} // namespace tik::spec
