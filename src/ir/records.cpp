#include "src/ir/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/json.h"
#include "src/ir/manifest_json.h"

namespace tik::ir {
namespace {

constexpr int current_schema = 1;
constexpr std::int64_t largest_number = INT64_C(1) << 53; // exact in every JSON reader
constexpr std::array<std::string_view, 3> opportunity_kind_names = {"change", "merge", "reactivate"};
constexpr std::array<std::string_view, 3> action_form_names = {"full-only", "decode-only", "joint"};
constexpr std::array<std::string_view, 5> branch_status_names = {"continue", "merge", "archive", "reactivate", "abandon"};

template <char L>
constexpr std::string_view id_noun = "";
template <>
constexpr std::string_view id_noun<'O'> = "an opportunity";
template <>
constexpr std::string_view id_noun<'I'> = "an implementation";
template <>
constexpr std::string_view id_noun<'A'> = "an action";
template <>
constexpr std::string_view id_noun<'U'> = "an audit";
template <>
constexpr std::string_view id_noun<'L'> = "a lineage decision";

// Records number from 1; the root implementation is I0.
template <char L>
constexpr std::int64_t first_number = L == 'I' ? 0 : 1;

template <char L>
std::vector<std::string> id_texts(std::vector<Id<L>> const& ids) {
  std::vector<std::string> texts;
  for (auto const id : ids) texts.push_back(to_string(id));
  return texts;
}

template <char L>
Id<L> read_id(JsonFields& fields, std::string_view key, std::string const& text) {
  auto id = parse_id<L>(text);
  if (id) return *id;
  fields.fail(key, id.error().message.substr(0, id.error().message.size() - 1));
  return {};
}

template <char L>
Id<L> id_field(JsonFields& fields, std::string_view key) {
  return read_id<L>(fields, key, fields.text(key));
}

template <char L>
std::vector<Id<L>> ids_field(JsonFields& fields, std::string_view key) {
  std::vector<Id<L>> ids;
  for (auto const& text : fields.texts(key)) ids.push_back(read_id<L>(fields, key, text));
  return ids;
}

template <std::size_t N>
std::size_t choice_field(JsonFields& fields, std::string_view key, std::array<std::string_view, N> const& names) {
  auto const text = fields.text(key);
  auto const found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  fields.fail(key, fmt::format("is '{}', but must be one of {}", text, fmt::join(names, ", ")));
  return 0;
}

// The fields that every body has.
Json body(std::string id, std::string const& created_at) {
  return {{"schema", current_schema}, {"id", std::move(id)}, {"created_at", created_at}};
}

// "implementation I7" when the id can be read: sentences name the record.
JsonFields open_body(Json const& json, std::string_view type) {
  std::string place(type);
  if (json.is_object()) {
    auto const id = json.find("id");
    if (id != json.end() && id->is_string() && id->get_ref<std::string const&>().size() < 24)
      place += " " + id->get_ref<std::string const&>();
  }
  JsonFields fields(json, place);
  if (json.is_object() && fields.value("schema") != Json(current_schema))
    fields.fail("schema", fmt::format("must be {}, the version that this program reads: use the version that wrote the record",
                                      current_schema));
  return fields;
}

std::vector<std::string> entry_point_texts(std::vector<spec::EntryPoint> const& entry_points) {
  std::vector<std::string> texts;
  for (auto const entry_point : entry_points) texts.emplace_back(spec::to_string(entry_point));
  return texts;
}

std::vector<NumericalRisk> risks_field(JsonFields& fields, std::string_view key) {
  std::vector<NumericalRisk> risks;
  for (auto const& item : fields.array(key)) {
    JsonFields risk(item, fmt::format("{}.{}", fields.place(), key));
    auto const name = risk.text("class");
    auto const parsed = spec::numerical_class_from(name);
    if (!parsed) risk.fail("class", fmt::format("'{}' is not a class of numerical risk", name));
    auto read = risk.finish(NumericalRisk{parsed.value_or(spec::NumericalClass::reduction_order), risk.text("note")});
    if (!read) fields.fail(read.error());
    if (read) risks.push_back(std::move(*read));
  }
  return risks;
}

} // namespace

template <char L>
Result<Id<L>> parse_id(std::string_view text) {
  auto const bad = [&] {
    return input_error(
        fmt::format("'{}' is not the id of {}: write {} and a number, for example {}7.", text.substr(0, 40), id_noun<L>, L, L));
  };
  if (text.size() < 2 || text[0] != L) return bad();
  auto const digits = text.substr(1);
  bool const all_digits = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!all_digits || (digits[0] == '0' && digits.size() > 1)) return bad();
  if (digits == "0" && first_number < L >> 0)
    return input_error(fmt::format("{} is not the id of {}: they begin with {}{}.", text, id_noun<L>, L, first_number<L>));
  Id<L> id;
  for (char const digit : digits.substr(0, 17)) id.number = id.number * 10 + (digit - '0');
  if (id.number > largest_number) {
    return input_error(fmt::format("'{}' is not the id of {}: no number is that large.", text.substr(0, 40), id_noun<L>));
  }
  return id;
}
template Result<Id<'O'>> parse_id<'O'>(std::string_view);
template Result<Id<'I'>> parse_id<'I'>(std::string_view);
template Result<Id<'A'>> parse_id<'A'>(std::string_view);
template Result<Id<'U'>> parse_id<'U'>(std::string_view);
template Result<Id<'L'>> parse_id<'L'>(std::string_view);

std::string_view to_string(Opportunity::Kind kind) { return opportunity_kind_names[static_cast<std::size_t>(kind)]; }
std::string_view to_string(ActionForm form) { return action_form_names[static_cast<std::size_t>(form)]; }
std::string_view to_string(BranchStatus status) { return branch_status_names[static_cast<std::size_t>(status)]; }

Result<BranchStatus> branch_status_from(std::string_view text) {
  auto const found = std::find(branch_status_names.begin(), branch_status_names.end(), text);
  if (found != branch_status_names.end()) return static_cast<BranchStatus>(found - branch_status_names.begin());
  return input_error(
      fmt::format("'{}' is not a branch status: write one of {}.", text.substr(0, 40), fmt::join(branch_status_names, ", ")));
}

Json to_json(Opportunity const& record) {
  Json json = body(to_string(record.id), record.created_at);
  json["kind"] = to_string(record.kind);
  json["mechanism"] = record.mechanism;
  json["workloads"] = record.workloads;
  json["entry_points"] = entry_point_texts(record.entry_points);
  json["evidence"] = id_texts(record.evidence);
  json["evidence_note"] = record.evidence_note;
  json["implementations"] = id_texts(record.implementations);
  json["origin"] = record.origin ? Json(to_string(*record.origin)) : Json();
  json["hint"] = record.hint;
  return json;
}

Result<Opportunity> opportunity_from_json(Json const& json) {
  auto fields = open_body(json, "opportunity");
  Opportunity record;
  record.id = id_field<'O'>(fields, "id");
  record.created_at = fields.text("created_at");
  record.kind = static_cast<Opportunity::Kind>(choice_field(fields, "kind", opportunity_kind_names));
  record.mechanism = fields.text("mechanism");
  record.workloads = fields.texts("workloads");
  record.entry_points = entry_points_field(fields, "entry_points");
  record.evidence = ids_field<'U'>(fields, "evidence");
  record.evidence_note = fields.text("evidence_note");
  record.implementations = ids_field<'I'>(fields, "implementations");
  if (fields.has("origin")) record.origin = id_field<'L'>(fields, "origin");
  record.hint = fields.object("hint");
  return fields.finish(std::move(record));
}

Json to_json(Withdrawal const& record) {
  Json json = body(to_string(record.opportunity), record.created_at);
  json["reason"] = record.reason;
  return json;
}

Result<Withdrawal> withdrawal_from_json(Json const& json) {
  auto fields = open_body(json, "withdrawal of opportunity");
  Withdrawal record;
  record.opportunity = id_field<'O'>(fields, "id");
  record.created_at = fields.text("created_at");
  record.reason = fields.text("reason");
  return fields.finish(std::move(record));
}

Json to_json(Implementation const& record) {
  Json json = body(to_string(record.id), record.created_at);
  json["commit"] = record.commit;
  json["source_sha256"] = record.source_sha256;
  json["parents"] = id_texts(record.parents);
  json["target"] = record.target;
  json["manifest"] = to_json(record.manifest);
  return json;
}

Result<Implementation> implementation_from_json(Json const& json) {
  auto fields = open_body(json, "implementation");
  Implementation record;
  record.id = id_field<'I'>(fields, "id");
  record.created_at = fields.text("created_at");
  record.commit = fields.text("commit");
  record.source_sha256 = fields.text("source_sha256");
  record.parents = ids_field<'I'>(fields, "parents");
  record.target = fields.text("target");
  auto manifest = manifest_from_json(fields.value("manifest"), fields.place() + ".manifest");
  if (!manifest) fields.fail(manifest.error());
  if (manifest) record.manifest = std::move(*manifest);
  return fields.finish(std::move(record));
}

Json to_json(Action const& record) {
  Json json = body(to_string(record.id), record.created_at);
  json["opportunity"] = to_string(record.opportunity);
  json["parents"] = id_texts(record.parents);
  json["result"] = to_string(record.result);
  json["form"] = to_string(record.form);
  json["diff"] = record.diff;
  json["workloads"] = record.workloads;
  json["variants"] = record.variants;
  json["scope"] = record.scope;
  json["regions"] = record.regions;
  json["expected_effect"] = record.expected_effect;
  json["risks"] = Json::array();
  for (auto const& risk : record.risks) json["risks"].push_back({{"class", spec::to_string(risk.risk)}, {"note", risk.note}});
  json["contradiction"] = record.contradiction;
  json["agent"] = record.agent;
  return json;
}

Result<Action> action_from_json(Json const& json) {
  auto fields = open_body(json, "action");
  Action record;
  record.id = id_field<'A'>(fields, "id");
  record.created_at = fields.text("created_at");
  record.opportunity = id_field<'O'>(fields, "opportunity");
  record.parents = ids_field<'I'>(fields, "parents");
  record.result = id_field<'I'>(fields, "result");
  record.form = static_cast<ActionForm>(choice_field(fields, "form", action_form_names));
  record.diff = fields.text("diff");
  record.workloads = fields.texts("workloads");
  record.variants = fields.texts("variants");
  record.scope = fields.text("scope");
  record.regions = fields.texts("regions");
  record.expected_effect = fields.text("expected_effect");
  record.risks = risks_field(fields, "risks");
  record.contradiction = fields.text("contradiction");
  record.agent = fields.text("agent");
  return fields.finish(std::move(record));
}

Json to_json(Audit const& record) {
  Json json = body(to_string(record.id), record.created_at);
  json["implementation"] = to_string(record.implementation);
  json["report"] = evaluator::to_json(record.report);
  return json;
}

Result<Audit> audit_from_json(Json const& json) {
  auto fields = open_body(json, "audit");
  Audit record;
  record.id = id_field<'U'>(fields, "id");
  record.created_at = fields.text("created_at");
  record.implementation = id_field<'I'>(fields, "implementation");
  auto report = evaluator::report_from_json(fields.value("report"));
  if (!report) fields.fail(Error{report.error().kind, fields.place() + ": " + report.error().message});
  if (report) record.report = std::move(*report);
  return fields.finish(std::move(record));
}

Json to_json(LineageDecision const& record) {
  Json json = body(to_string(record.id), record.created_at);
  json["implementation"] = to_string(record.implementation);
  json["audit"] = to_string(record.audit);
  json["interpretation"] = record.interpretation;
  json["status"] = to_string(record.status);
  json["reason"] = record.reason;
  json["evidence"] = id_texts(record.evidence);
  json["follow_ups"] = id_texts(record.follow_ups);
  json["agent"] = record.agent;
  return json;
}

Result<LineageDecision> lineage_decision_from_json(Json const& json) {
  auto fields = open_body(json, "lineage decision");
  LineageDecision record;
  record.id = id_field<'L'>(fields, "id");
  record.created_at = fields.text("created_at");
  record.implementation = id_field<'I'>(fields, "implementation");
  record.audit = id_field<'U'>(fields, "audit");
  record.interpretation = fields.text("interpretation");
  record.status = static_cast<BranchStatus>(choice_field(fields, "status", branch_status_names));
  record.reason = fields.text("reason");
  record.evidence = ids_field<'U'>(fields, "evidence");
  record.follow_ups = ids_field<'O'>(fields, "follow_ups");
  record.agent = fields.text("agent");
  return fields.finish(std::move(record));
}

Json to_json(ModelUsage const& record) {
  Json json = body(std::to_string(record.number), record.created_at);
  json["action"] = record.action ? Json(to_string(*record.action)) : Json();
  json["purpose"] = record.purpose;
  json["model"] = record.model;
  json["input_tokens"] = record.input_tokens;
  json["output_tokens"] = record.output_tokens;
  json["estimated"] = record.estimated;
  json["raw"] = record.raw;
  return json;
}

Result<ModelUsage> model_usage_from_json(Json const& json) {
  auto fields = open_body(json, "model usage");
  ModelUsage record;
  auto const id = fields.text("id");
  auto const number = parse_id<'A'>("A" + id);
  if (!number) fields.fail("id", fmt::format("'{}' is not a number from 1", id));
  record.number = number ? number->number : 0;
  record.created_at = fields.text("created_at");
  if (fields.has("action")) record.action = id_field<'A'>(fields, "action");
  record.purpose = fields.text("purpose");
  record.model = fields.text("model");
  record.input_tokens = fields.integer("input_tokens", 0, largest_number);
  record.output_tokens = fields.integer("output_tokens", 0, largest_number);
  record.estimated = fields.flag("estimated");
  record.raw = fields.object("raw");
  return fields.finish(std::move(record));
}

} // namespace tik::ir
