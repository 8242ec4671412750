#include "src/agent/toolbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "src/agent/tool_choices.h"

namespace tik::agent {
namespace {

// The start of the character at or before `at`, so that no answer ends inside of one.
std::size_t character_start(std::string const& text, std::size_t at) {
  if (at >= text.size()) return text.size();
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

// The part that was asked for, with how to ask for the rest. Parts prefer to end at a line's end.
Answer part_of(std::string const& text, std::size_t offset, std::size_t most) {
  offset = character_start(text, offset);
  std::size_t end = character_start(text, offset + std::min(most, text.size()));
  if (end < text.size())
    if (std::size_t const line = text.rfind('\n', end); line != std::string::npos && line > offset + most / 2) end = line + 1;
  Answer answer{text.substr(offset, end - offset), false, text.size()};
  if (offset == 0 && end == text.size()) return answer;
  answer.text += fmt::format("\n[bytes {} to {} of {}{}]", offset, end, text.size(),
                             end < text.size() ? fmt::format("; for the rest ask again with offset = {}", end) : "");
  return answer;
}

constexpr std::size_t widest_line = 200;

std::string one_line(Json const& json) {
  if (!json.is_structured()) return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string text(1, json.is_object() ? '{' : '[');
  std::string_view separator;
  for (auto const& [key, value] : json.items()) {
    text += separator;
    if (json.is_object()) text.append(one_line(key)).append(": ");
    text += one_line(value);
    separator = ", ";
  }
  text += json.is_object() ? '}' : ']';
  return text;
}

void lay_out(Json const& json, std::size_t indent, std::string& out) {
  std::string const line = one_line(json);
  if (!json.is_structured() || line.size() <= widest_line) {
    out += line;
    return;
  }
  out += line.front();
  std::string_view separator;
  for (auto const& [key, value] : json.items()) {
    out.append(separator).append("\n").append(indent + 1, ' ');
    if (json.is_object()) out.append(one_line(key)).append(": ");
    lay_out(value, indent + 1, out);
    separator = ",";
  }
  out.append("\n").append(indent, ' ') += line.back();
}

} // namespace

Json rounded(Json const& json) {
  if (json.is_number_float()) return std::strtod(fmt::format("{:.6g}", json.get<double>()).c_str(), nullptr);
  if (!json.is_structured()) return json;
  Json copy = json;
  for (Json& value : copy) value = rounded(value);
  return copy;
}

std::string pretty(Json const& json) {
  std::string text;
  lay_out(rounded(json), 0, text);
  return text;
}

std::string next_step(search::State const& state, bool drafting) {
  if (state.awaiting_audit) return fmt::format("{} awaits its audit.", to_string(*state.awaiting_audit));
  if (state.awaiting_decision)
    return fmt::format("{}, the audit of {}, awaits your decision.", to_string(*state.awaiting_decision),
                       to_string(state.audits.at(*state.awaiting_decision)));
  if (drafting) return "An action is begun: edit, build and submit it.";
  return "An action may begin.";
}

Toolbox::Toolbox(Desk& desk, Withheld withheld, Offer offer, AnswerLimits limits)
    : desk_(desk), withheld_(withheld), offer_(offer), limits_(limits), tools_(tool_table(withheld, offer, limits)) {}

Result<Inventory> Toolbox::inventory() const {
  View const view = desk_.view();
  Inventory found;
  TIK_TRY(ir::Store::Counts const counts, view.store.counts());
  found.decisions = counts.decisions;
  std::set<std::string> readable;
  if (view.state.incumbent) {
    TIK_TRY(std::vector<SourceFile> const files, files_of(to_string(*view.state.incumbent)));
    for (SourceFile const& file : files) readable.insert(file.name);
  }
  if (draft_) {
    TIK_TRY(std::vector<SourceFile> const files, files_of("draft"));
    for (SourceFile const& file : files) found.draft_files.push_back(file.name);
    readable.insert(found.draft_files.begin(), found.draft_files.end());
    TIK_TRY(Declared const declared, declared_changes());
    for (Move const& move : declared.changes) found.changes.push_back(words(move));
    for (spec::Variant const& variant : declared.manifest.variants) found.variants.push_back(variant.name);
  }
  found.readable_files.assign(readable.begin(), readable.end());
  return found;
}

Result<std::vector<Tool>> Toolbox::offer_what_is_there(Room room) {
  TIK_TRY(Inventory const present, inventory());
  tools_ = with_choices(tool_table(withheld_, offer_, limits_), desk_.view(), present);
  TIK_TRY(bool const is_new, is_new_draft());
  bool const can_apply = !present.changes.empty();
  auto const is_offered = [&](Tool const& tool) {
    if (tool.name == "begin_action") return !draft_;
    if (tool.name == "submit") return is_new;
    if (tool.effect == Tool::Effect::reads) return room == Room::ample;
    if (tool.effect == Tool::Effect::records) return true;
    if (room == Room::least && is_new) return false; // submit is left
    if (tool.name == "apply") return can_apply;
    if (tool.name == "build") return is_new;
    return draft_ && !(room == Room::least && can_apply); // edit, whose text may not be found
  };
  std::vector<Tool> callable;
  std::copy_if(tools_.begin(), tools_.end(), std::back_inserter(callable), is_offered);
  return callable;
}

Toolbox::Handler Toolbox::handler_of(std::string_view name) {
  static constexpr std::pair<std::string_view, Handler> handlers[] = {
      {"state", &Toolbox::state},
      {"list_records", &Toolbox::list_records},
      {"read_record", &Toolbox::read_record},
      {"read_source", &Toolbox::read_source},
      {"diff", &Toolbox::diff},
      {"evidence", &Toolbox::evidence},
      {"begin_action", &Toolbox::begin_action},
      {"edit", &Toolbox::edit},
      {"apply", &Toolbox::apply},
      {"build", &Toolbox::build},
      {"submit", &Toolbox::submit},
      {"audit", &Toolbox::audit},
      {"decide", &Toolbox::decide},
      {"propose", &Toolbox::propose},
      {"withdraw", &Toolbox::withdraw},
  };
  auto const* const found =
      std::find_if(std::begin(handlers), std::end(handlers), [&](auto const& entry) { return entry.first == name; });
  return found == std::end(handlers) ? nullptr : found->second;
}

Result<Answer> Toolbox::call(std::string const& name, Json const& arguments) {
  auto const refuse = [](std::string sentence) { return Answer{std::move(sentence), true, 0}; };
  auto const tool = std::find_if(tools_.begin(), tools_.end(), [&](Tool const& known) { return known.name == name; });
  Handler const handler = handler_of(name);
  if (tool == tools_.end() || !handler) {
    std::string known;
    for (Tool const& entry : tools_) known += (known.empty() ? "" : ", ") + entry.name;
    return refuse(fmt::format("'{}' is no tool here; there are {}.", name.substr(0, 60), known));
  }
  if (auto const checked = check(*tool, arguments); !checked) return refuse(checked.error().message);
  Arguments const given(arguments);
  Result<std::string> const text = (this->*handler)(given);
  if (!text && text.error().kind == ErrorKind::input) return refuse(text.error().message);
  if (!text) return tl::unexpected(text.error());
  return part_of(*text, static_cast<std::size_t>(given.integer("offset", 0)),
                 static_cast<std::size_t>(given.integer("max_bytes", static_cast<std::int64_t>(limits_.usual))));
}

} // namespace tik::agent
