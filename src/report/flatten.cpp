#include "src/report/flatten.h"

#include <fmt/format.h>

#include <algorithm>

namespace tik::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t log_lines = 20;

// The last lines of a log, because compilers and crashes say what matters last.
std::string tail(std::string const& text) {
  std::size_t start = text.size();
  for (std::size_t line = 0; start > 0 && line <= log_lines; --start)
    if (text[start - 1] == '\n' && ++line > log_lines) break;
  std::string kept = text.substr(start);
  while (!kept.empty() && (kept.back() == '\n' || kept.back() == ' ')) kept.pop_back();
  return (start > 0 ? "...\n" : "") + kept;
}

std::string scalar(Json const& value) {
  if (value.is_string()) return tail(value.get<std::string>());
  if (value.is_number_float()) return fmt::format("{:g}", value.get<double>());
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool all_scalars(Json const& list) {
  return std::all_of(list.begin(), list.end(), [](Json const& value) { return value.is_primitive(); });
}

void flatten_into(Json const& json, std::string const& path, std::vector<std::pair<std::string, std::string>>& pairs) {
  if (json.is_object()) {
    for (auto const& [key, value] : json.items()) flatten_into(value, path.empty() ? key : path + '.' + key, pairs);
  } else if (json.is_array() && !all_scalars(json)) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      // Elements that carry a name are told apart by it: positions change between two reports.
      std::string element = std::to_string(i);
      for (char const* const key : {"id", "name", "workload", "kernel", "symbol", "file"})
        if (json[i].is_object() && json[i].contains(key) && json[i][key].is_string()) {
          element = json[i][key].get<std::string>();
          break;
        }
      flatten_into(json[i], fmt::format("{}[{}]", path, element), pairs);
    }
  } else {
    pairs.emplace_back(path, scalar(json));
  }
}

} // namespace

std::vector<std::pair<std::string, std::string>> flatten(Json const& json) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!json.empty() || json.is_primitive()) flatten_into(json, "", pairs);
  return pairs;
}

} // namespace tik::report
