#include "src/base/json.h"

#include <fmt/format.h>

#include <cmath>

namespace tik {
namespace {

Json const null_value;
Json const empty_array = Json::array();

bool all_finite(Json const& value) {
  if (value.is_number_float()) return std::isfinite(value.get<double>());
  if (!value.is_structured()) return true;
  for (auto const& child : value) {
    if (!all_finite(child)) return false;
  }
  return true;
}

// Watches the events of the parser for what the resulting value would hide: depth and keys given twice.
class ParseGuard {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > largest_json_depth && problem_.empty())
      problem_ = fmt::format("is nested deeper than {} levels", largest_json_depth);
    if (!problem_.empty()) return false; // drop the rest instead of building it
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end && !keys_.empty()) keys_.pop_back();
    if (event == Json::parse_event_t::key && !keys_.empty()) {
      auto const& key = parsed.get_ref<std::string const&>();
      if (!keys_.back().insert(key).second) problem_ = fmt::format("gives the key '{}' twice in one object", key);
    }
    return problem_.empty();
  }
  std::string const& problem() const { return problem_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::string problem_;
};

} // namespace

Result<Json> parse_json(std::string_view text, std::string_view place) {
  ParseGuard guard;
  try {
    auto json = Json::parse(text.begin(), text.end(),
                            [&](int depth, Json::parse_event_t event, Json& parsed) { return guard(depth, event, parsed); });
    if (!guard.problem().empty()) return input_error(fmt::format("{}: {}: write it plainly.", place, guard.problem()));
    return json;
  } catch (Json::parse_error const& error) {
    return input_error(fmt::format("{}: is not JSON from byte {} on: check that the text is complete.", place, error.byte));
  } catch (Json::exception const& error) { // a number that no type holds
    return input_error(fmt::format("{}: holds a value that cannot be read: {}.", place, error.what()));
  }
}

std::string dump_json(Json const& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

JsonFields::JsonFields(Json const& json, std::string place) : json_(json), place_(std::move(place)) {
  if (!json_.is_object()) fail("", "must be an object");
}

void JsonFields::fail(std::string_view key, std::string_view sentence) {
  if (problem_) return;
  problem_ = Error{ErrorKind::input, fmt::format("{}{}{}: {}.", place_, key.empty() ? "" : ".", key, sentence)};
}

void JsonFields::fail(Error error) {
  if (!problem_) problem_ = std::move(error);
}

Json const* JsonFields::find(std::string_view key) {
  read_.emplace(key);
  if (!json_.is_object()) return nullptr;
  auto const found = json_.find(std::string(key));
  if (found != json_.end()) return &*found;
  fail(key, "is missing");
  return nullptr;
}

Json const* JsonFields::typed(std::string_view key, bool (*is)(Json const&), std::string_view wanted) {
  auto const* value = find(key);
  if (value == nullptr || is(*value)) return value;
  fail(key, fmt::format("must be {}", wanted));
  return nullptr;
}

std::string JsonFields::text(std::string_view key) {
  auto const* value = typed(
      key, [](Json const& json) { return json.is_string(); }, "a string");
  return value == nullptr ? std::string() : value->get<std::string>();
}

bool JsonFields::flag(std::string_view key) {
  auto const* value = typed(
      key, [](Json const& json) { return json.is_boolean(); }, "true or false");
  return value != nullptr && value->get<bool>();
}

double JsonFields::number(std::string_view key) {
  auto const finite = [](Json const& json) { return json.is_number() && std::isfinite(json.get<double>()); };
  auto const* value = typed(key, finite, "a finite number");
  return value == nullptr ? 0.0 : value->get<double>();
}

std::int64_t JsonFields::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  // Unsigned values beyond the signed range would wrap around.
  auto const whole = [](Json const& json) {
    return json.is_number_integer() && (!json.is_number_unsigned() || json.get<std::uint64_t>() <= INT64_MAX);
  };
  auto const* value = typed(key, whole, "a whole number");
  if (value == nullptr) return low;
  auto const number = value->get<std::int64_t>();
  if (number >= low && number <= high) return number;
  fail(key, fmt::format("is {}, but must be between {} and {}", number, low, high));
  return low;
}

std::vector<std::string> JsonFields::texts(std::string_view key) {
  std::vector<std::string> result;
  for (auto const& item : array(key)) {
    if (item.is_string()) {
      result.push_back(item.get<std::string>());
    } else {
      fail(key, "must hold strings only");
    }
  }
  return result;
}

Json JsonFields::object(std::string_view key) {
  auto const* value = typed(
      key, [](Json const& json) { return json.is_object(); }, "an object");
  if (value == nullptr) return Json::object();
  if (!all_finite(*value)) fail(key, "holds a number that is not finite");
  return *value;
}

Json const& JsonFields::array(std::string_view key) {
  auto const* value = typed(
      key, [](Json const& json) { return json.is_array(); }, "an array");
  return value == nullptr ? empty_array : *value;
}

Json const& JsonFields::value(std::string_view key) {
  auto const* value = find(key);
  return value == nullptr ? null_value : *value;
}

bool JsonFields::has(std::string_view key) {
  read_.emplace(key);
  if (!json_.is_object()) return false;
  auto const found = json_.find(std::string(key));
  return found != json_.end() && !found->is_null();
}

void JsonFields::refuse_unread() {
  if (problem_ || !json_.is_object()) return;
  for (auto const& item : json_.items()) {
    if (!read_.contains(item.key())) fail(item.key(), "is not a key of this record");
  }
}

} // namespace tik
