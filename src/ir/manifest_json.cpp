#include "src/ir/manifest_json.h"

#include <fmt/format.h>

namespace tik::ir {
namespace {

using spec::EntryPoint;

Json entry_point_list(std::vector<EntryPoint> const& entry_points) {
  Json list = Json::array();
  for (auto const entry_point : entry_points) list.push_back(spec::to_string(entry_point));
  return list;
}

EntryPoint entry_point_field(JsonFields& fields, std::string_view key) {
  auto const result = entry_point_from(fields.text(key));
  if (!result) fields.fail(key, "must be full or decode");
  return result.value_or(EntryPoint::full);
}

// Every object of a list, read by `read(JsonFields&) -> T`.
template <class T, class Read>
std::vector<T> list_field(JsonFields& fields, std::string_view key, Read read) {
  std::vector<T> result;
  for (auto const& item : fields.array(key)) {
    JsonFields item_fields(item, fmt::format("{}.{}[{}]", fields.place(), key, result.size()));
    auto value = item_fields.finish(read(item_fields));
    if (!value) {
      fields.fail(value.error());
      return result;
    }
    result.push_back(std::move(*value));
  }
  return result;
}

Json to_json(spec::Variant const& variant) {
  return {{"name", variant.name},
          {"entry_point", spec::to_string(variant.entry_point)},
          {"file", variant.file},
          {"when", variant.when}};
}

Json to_json(spec::DispatchRule const& rule) {
  return {{"entry_point", spec::to_string(rule.entry_point)}, {"when", rule.when}, {"variant", rule.variant}};
}

Json to_json(spec::NumericalRequirement const& numerics) {
  return {{"class", spec::to_string(numerics.risk)}, {"requirement", numerics.requirement}};
}

Json to_json(spec::Tunable const& tunable) {
  return {{"name", tunable.name},
          {"file", tunable.file},
          {"line", tunable.line},
          {"domain", tunable.domain},
          {"entry_points", entry_point_list(tunable.entry_points)},
          {"mechanism", tunable.mechanism},
          {"risk", tunable.risk},
          {"helps", tunable.helps}};
}

Json to_json(spec::Rewrite const& rewrite) {
  Json edits = Json::array();
  for (auto const& edit : rewrite.edits) edits.push_back({{"file", edit.file}, {"find", edit.find}, {"replace", edit.replace}});
  return {{"name", rewrite.name},      {"mechanism", rewrite.mechanism},
          {"risk", rewrite.risk},      {"entry_points", entry_point_list(rewrite.entry_points)},
          {"edits", std::move(edits)}, {"requires", rewrite.requires_},
          {"enables", rewrite.enables}};
}

template <class T>
Json list(std::vector<T> const& values) {
  Json result = Json::array();
  for (auto const& value : values) result.push_back(to_json(value));
  return result;
}

spec::Variant read_variant(JsonFields& fields) {
  spec::Variant variant;
  variant.name = fields.text("name");
  variant.entry_point = entry_point_field(fields, "entry_point");
  variant.file = fields.text("file");
  variant.when = fields.text("when");
  return variant;
}

spec::DispatchRule read_rule(JsonFields& fields) {
  spec::DispatchRule rule;
  rule.entry_point = entry_point_field(fields, "entry_point");
  rule.when = fields.text("when");
  rule.variant = fields.text("variant");
  return rule;
}

spec::NumericalRequirement read_numerics(JsonFields& fields) {
  auto const risk = spec::numerical_class_from(fields.text("class"));
  if (!risk) fields.fail("class", "is not a class of numerical risk");
  return {risk.value_or(spec::NumericalClass::reduction_order), fields.text("requirement")};
}

spec::Tunable read_tunable(JsonFields& fields) {
  spec::Tunable tunable;
  tunable.name = fields.text("name");
  tunable.file = fields.text("file");
  tunable.line = fields.text("line");
  tunable.domain = fields.texts("domain");
  tunable.entry_points = entry_points_field(fields, "entry_points");
  tunable.mechanism = fields.text("mechanism");
  tunable.risk = fields.text("risk");
  tunable.helps = fields.text("helps");
  return tunable;
}

spec::Edit read_edit(JsonFields& fields) { return {fields.text("file"), fields.text("find"), fields.text("replace")}; }

spec::Rewrite read_rewrite(JsonFields& fields) {
  spec::Rewrite rewrite;
  rewrite.name = fields.text("name");
  rewrite.mechanism = fields.text("mechanism");
  rewrite.risk = fields.text("risk");
  rewrite.entry_points = entry_points_field(fields, "entry_points");
  rewrite.edits = list_field<spec::Edit>(fields, "edits", read_edit);
  rewrite.requires_ = fields.texts("requires");
  rewrite.enables = fields.texts("enables");
  return rewrite;
}

} // namespace

Result<EntryPoint> entry_point_from(std::string_view text) {
  if (text == "full") return EntryPoint::full;
  if (text == "decode") return EntryPoint::decode;
  return input_error(fmt::format("'{}' is not an entry point: write full or decode", text.substr(0, 40)));
}

std::vector<EntryPoint> entry_points_field(JsonFields& fields, std::string_view key) {
  std::vector<EntryPoint> result;
  for (auto const& text : fields.texts(key)) {
    auto const entry_point = entry_point_from(text);
    if (!entry_point) fields.fail(key, entry_point.error().message);
    result.push_back(entry_point.value_or(EntryPoint::full));
  }
  return result;
}

Json to_json(spec::Manifest const& manifest) {
  return {{"operator", manifest.operator_name},
          {"target", manifest.target},
          {"description", manifest.description},
          {"abi", manifest.abi},
          {"entry_points",
           {{"full", manifest.full_symbol},
            {"extend", manifest.extend_symbol},
            {"decode", manifest.decode_symbol},
            {"workspace", manifest.workspace_symbol},
            {"version", manifest.version_symbol}}},
          {"files", {{"full", manifest.full_files}, {"decode", manifest.decode_files}, {"shared", manifest.shared_files}}},
          {"build_command", manifest.build_command},
          {"variants", list(manifest.variants)},
          {"dispatch", list(manifest.dispatch)},
          {"numerics", list(manifest.numerics)},
          {"tunables", list(manifest.tunables)},
          {"rewrites", list(manifest.rewrites)}};
}

Result<spec::Manifest> manifest_from_json(Json const& json, std::string const& place) {
  JsonFields fields(json, place);
  spec::Manifest manifest;
  manifest.operator_name = fields.text("operator");
  manifest.target = fields.text("target");
  manifest.description = fields.text("description");
  manifest.abi = static_cast<int>(fields.integer("abi", 0, INT32_MAX));
  JsonFields symbols(fields.value("entry_points"), place + ".entry_points");
  manifest.full_symbol = symbols.text("full");
  manifest.extend_symbol = symbols.text("extend");
  manifest.decode_symbol = symbols.text("decode");
  manifest.workspace_symbol = symbols.text("workspace");
  manifest.version_symbol = symbols.text("version");
  if (auto const read = symbols.finish(true); !read) fields.fail(read.error());
  JsonFields files(fields.value("files"), place + ".files");
  manifest.full_files = files.texts("full");
  manifest.decode_files = files.texts("decode");
  manifest.shared_files = files.texts("shared");
  if (auto const read = files.finish(true); !read) fields.fail(read.error());
  manifest.build_command = fields.texts("build_command");
  manifest.variants = list_field<spec::Variant>(fields, "variants", read_variant);
  manifest.dispatch = list_field<spec::DispatchRule>(fields, "dispatch", read_rule);
  manifest.numerics = list_field<spec::NumericalRequirement>(fields, "numerics", read_numerics);
  manifest.tunables = list_field<spec::Tunable>(fields, "tunables", read_tunable);
  manifest.rewrites = list_field<spec::Rewrite>(fields, "rewrites", read_rewrite);
  return fields.finish(std::move(manifest));
}

} // namespace tik::ir
