#include "src/agent/tool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/report/format.h"

namespace tik::agent {
namespace {

Json schema_of(std::vector<Field> const& fields);

Json text_schema(Field const& field) {
  Json schema = {{"type", "string"}};
  if (!field.choices.empty())
    schema["enum"] = field.choices;
  else if (field.longest > 0)
    schema["maxLength"] = field.longest;
  return schema;
}

// Elements of a list. Each choice is of use once.
std::size_t most_of(Field const& field) {
  return field.choices.empty() ? most_elements : std::min(most_elements, field.choices.size());
}

Json schema_of(Field const& field) {
  switch (field.type) {
    case Field::Type::text:
      return text_schema(field);
    case Field::Type::integer:
      return {{"type", "integer"}, {"minimum", field.low}, {"maximum", field.high}};
    case Field::Type::boolean:
      return {{"type", "boolean"}};
    case Field::Type::texts:
      return {{"type", "array"}, {"items", text_schema(field)}, {"maxItems", std::min(field.most, most_of(field))}};
    case Field::Type::object:
      return schema_of(field.fields);
    case Field::Type::objects:
      return {{"type", "array"}, {"items", schema_of(field.fields)}, {"maxItems", field.most}};
  }
  return Json::object();
}

Json schema_of(std::vector<Field> const& fields) {
  Json properties = Json::object(), required = Json::array();
  for (Field const& field : fields) {
    Json schema = schema_of(field);
    schema["description"] = field.description;
    if (field.required && schema["type"] == "array") schema["minItems"] = 1;
    properties[field.name] = std::move(schema);
    if (field.required) required.push_back(field.name);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

std::string_view noun(Field::Type type) {
  switch (type) {
    case Field::Type::text:
      return "a string";
    case Field::Type::integer:
      return "an integer";
    case Field::Type::boolean:
      return "true or false";
    case Field::Type::texts:
      return "a list of strings";
    case Field::Type::object:
      return "an object";
    case Field::Type::objects:
      return "a list of objects";
  }
  return "a value";
}

// What is wrong with one text; empty when nothing is.
std::string text_problem(Field const& field, std::string const& text) {
  if (text.size() > longest_argument) return fmt::format("has {} bytes; at most {} are taken", text.size(), longest_argument);
  if (field.choices.empty() || std::find(field.choices.begin(), field.choices.end(), text) != field.choices.end()) return "";
  return fmt::format("is '{}', but must be one of {}", text.substr(0, 60), report::join(field.choices, ", "));
}

tl::unexpected<Error> wrong(std::string const& place, std::string const& problem) {
  return input_error(fmt::format("{}: {}.", place, problem));
}

Result<void> check_fields(std::vector<Field> const& fields, Json const& json, std::string const& place);

Result<void> check_value(Field const& field, Json const& value, std::string const& place) {
  auto const mistyped = [&] { return wrong(place, fmt::format("must be {}, not {}", noun(field.type), value.type_name())); };
  switch (field.type) {
    case Field::Type::text: {
      if (!value.is_string()) return mistyped();
      if (std::string const problem = text_problem(field, value.get_ref<std::string const&>()); !problem.empty())
        return wrong(place, problem);
      return {};
    }
    case Field::Type::integer: {
      if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX))
        return mistyped();
      auto const number = value.get<std::int64_t>();
      if (number < field.low || number > field.high)
        return wrong(place, fmt::format("is {}, but must be from {} to {}", number, field.low, field.high));
      return {};
    }
    case Field::Type::boolean:
      if (!value.is_boolean()) return mistyped();
      return {};
    case Field::Type::texts:
    case Field::Type::objects: {
      if (!value.is_array()) return mistyped();
      if (value.size() > most_of(field))
        return wrong(place, fmt::format("has {} elements; at most {} are taken", value.size(), most_of(field)));
      for (std::size_t i = 0; i < value.size(); ++i) {
        std::string const element = fmt::format("{}[{}]", place, i);
        if (field.type == Field::Type::objects) {
          TIK_CHECK(check_fields(field.fields, value[i], element));
        } else if (!value[i].is_string()) {
          return mistyped();
        } else if (std::string const problem = text_problem(field, value[i].get_ref<std::string const&>()); !problem.empty()) {
          return wrong(element, problem);
        }
      }
      return {};
    }
    case Field::Type::object:
      return check_fields(field.fields, value, place);
  }
  return {};
}

Result<void> check_fields(std::vector<Field> const& fields, Json const& json, std::string const& place) {
  if (!json.is_object()) return wrong(place, fmt::format("must be an object, not {}", json.type_name()));
  for (auto const& entry : json.items()) {
    std::string const& key = entry.key();
    auto const known = std::find_if(fields.begin(), fields.end(), [&](Field const& field) { return field.name == key; });
    if (known != fields.end()) continue;
    std::vector<std::string> names;
    for (Field const& field : fields) names.push_back(field.name);
    return wrong(place, fmt::format("'{}' is no argument; {}", key.substr(0, 60),
                                    names.empty() ? "there is none" : "there are " + report::join(names, ", ")));
  }
  for (Field const& field : fields) {
    auto const found = json.find(field.name);
    bool const absent = found == json.end() || found->is_null();
    if (absent && field.required) return wrong(place, fmt::format("{} is missing: {}", field.name, field.description));
    if (!absent && field.required && found->is_array() && found->empty())
      return wrong(place, fmt::format("{} is empty: {}", field.name, field.description));
    if (!absent) TIK_CHECK(check_value(field, *found, place + ": " + field.name));
  }
  return {};
}

void describe_fields(std::vector<Field> const& fields, std::string const& prefix, std::vector<std::vector<std::string>>& rows) {
  for (Field const& field : fields) {
    std::string kind(noun(field.type));
    if (!field.choices.empty()) kind += ": " + report::join(field.choices, ", ");
    rows.push_back({prefix + field.name + (field.required ? "" : "?"), kind, field.description});
    describe_fields(field.fields, prefix + field.name + ".", rows);
  }
}

} // namespace

Json input_schema(Tool const& tool) {
  Json schema = schema_of(tool.fields);
  for (std::vector<std::string> const& way : tool.ways) {
    std::vector<Field> fields;
    for (Field field : tool.fields) {
      field.required = true;
      if (std::find(way.begin(), way.end(), field.name) != way.end()) fields.push_back(std::move(field));
    }
    schema["anyOf"].push_back(schema_of(fields));
  }
  return schema;
}

Result<void> check(Tool const& tool, Json const& arguments) { return check_fields(tool.fields, arguments, tool.name); }

std::string describe(std::vector<Tool> const& tools) {
  std::string text;
  for (Tool const& tool : tools) {
    text += fmt::format("## {}\n\n{}\n\n", tool.name, tool.description);
    std::vector<std::vector<std::string>> rows = {{"argument", "is", "meaning"}};
    describe_fields(tool.fields, "", rows);
    text += rows.size() > 1 ? report::markdown_table(rows, "lll") + '\n' : "No arguments.\n\n";
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

Json const* Arguments::find(std::string_view key) const {
  auto const found = json_.find(std::string(key));
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

std::string Arguments::text(std::string_view key, std::string fallback) const {
  Json const* const value = find(key);
  return value ? value->get<std::string>() : fallback;
}

std::int64_t Arguments::integer(std::string_view key, std::int64_t fallback) const {
  Json const* const value = find(key);
  return value ? value->get<std::int64_t>() : fallback;
}

bool Arguments::flag(std::string_view key, bool fallback) const {
  Json const* const value = find(key);
  return value ? value->get<bool>() : fallback;
}

std::vector<std::string> Arguments::texts(std::string_view key) const {
  Json const* const value = find(key);
  return value ? value->get<std::vector<std::string>>() : std::vector<std::string>{};
}

std::vector<Arguments> Arguments::objects(std::string_view key) const {
  std::vector<Arguments> list;
  if (Json const* const value = find(key))
    for (Json const& element : *value) list.emplace_back(element);
  return list;
}

} // namespace tik::agent
