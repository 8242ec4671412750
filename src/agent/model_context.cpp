#include "src/agent/model_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/agent/prompts.h"
#include "src/base/sha256.h"

namespace tik::agent {
namespace {

constexpr std::size_t attempts_shown = 25;
constexpr std::size_t most_part_bytes = 20000; // of one answer in the first message

Result<Answer> answer(Toolbox& toolbox, char const* tool, Json arguments) {
  AnswerLimits const limits = toolbox.limits();
  if (limits.usual < limits.largest) arguments["max_bytes"] = std::min(most_part_bytes, limits.largest);
  return toolbox.call(tool, arguments);
}

Result<std::string> ask(Toolbox& toolbox, char const* tool, Json arguments) {
  TIK_TRY(Answer const part, answer(toolbox, tool, std::move(arguments)));
  return framed(tool, part.text);
}

// Earlier attempts, failed ones with their reasons: what was falsified is not to be tried again. Those that failed have a list
// of their own only where the first one does not hold them all.
Result<std::string> attempts(Toolbox& toolbox, View const& view, Withheld const& withheld) {
  if (withheld.history) return std::string();
  Json const latest = {{"type", "implementation"}, {"limit", attempts_shown}};
  TIK_TRY(Answer const implementations, answer(toolbox, "list_records", latest));
  bool const all = view.state.implementations.size() <= attempts_shown && implementations.text.size() == implementations.total;
  std::string failed;
  if (!all) {
    Json earlier = latest;
    earlier["status"] = "failed";
    TIK_TRY(failed, ask(toolbox, "list_records", std::move(earlier)));
    failed = "Attempts that failed:\n" + failed + "\n";
  }
  TIK_TRY(std::string const decisions, ask(toolbox, "list_records", {{"type", "decision"}, {"limit", attempts_shown}}));
  return fmt::format(
      "The latest implementations, newest first; do not try the directions of those that failed again in other words:\n{}\n{}"
      "The latest decisions:\n{}\n",
      framed("list_records", implementations.text), failed, decisions);
}

} // namespace

// The mark is a hash over the text, so no text can hold its own.
std::string framed(std::string_view source, std::string_view text) {
  std::string const mark = sha256_hex(text).substr(0, 12);
  return fmt::format("<data source=\"{0}\" mark=\"{1}\">\n{2}{3}</data mark=\"{1}\">", source, mark, text,
                     text.ends_with('\n') ? "" : "\n");
}

std::string system_prompt(Withheld const& withheld) {
  std::string text(prompt("system.md"));
  if (!withheld.numerics) text += "\n" + std::string(prompt("numerics.md"));
  return text;
}

Result<std::string> act_message(Toolbox& toolbox, View const& view, Withheld const& withheld) {
  TIK_TRY(std::string const state, ask(toolbox, "state", Json::object()));
  TIK_TRY(std::string const history, attempts(toolbox, view, withheld));
  std::string const choice(prompt(withheld.opportunities ? "act_direct.md" : "act.md"));
  return fmt::format("{}\nThe search state:\n{}\n{}", choice, state, history);
}

Result<std::string> manage_message(Toolbox& toolbox, View const& view, Withheld const& withheld, ir::AuditId audit) {
  TIK_TRY(std::string const state, ask(toolbox, "state", Json::object()));
  TIK_TRY(std::string const found, ask(toolbox, "read_record", {{"ids", {to_string(audit)}}}));
  search::ImplementationState const& audited = view.state.implementations.at(view.state.audits.at(audit));
  std::string action, comparison;
  if (audited.action) {
    TIK_TRY(action, ask(toolbox, "read_record", {{"ids", {to_string(*audited.action)}}}));
    action = "The action that was audited:\n" + action + "\n";
  }
  if (!withheld.evidence && audited.verified) {
    bool const root = audited.parents.empty() || withheld.history;
    Json audits = root ? Json{to_string(audit)}
                       : Json{to_string(*view.state.implementations.at(audited.parents.front()).audit), to_string(audit)};
    TIK_TRY(comparison,
            ask(toolbox, "evidence",
                {{"audits", std::move(audits)}, {"sections", {"latency", "compiler", "instructions", "profiler"}}}));
    comparison = (root ? "Its evidence:\n" : "Its evidence beside its parent's:\n") + comparison + "\n";
  }
  TIK_TRY(std::string const history, attempts(toolbox, view, withheld));
  std::string const task(prompt(withheld.lineage ? "manage_fixed.md" : "manage.md"));
  std::string const follow_ups(withheld.opportunities ? "" : prompt("follow_ups.md"));
  return fmt::format("{}{}\nThe audit to read, {}:\n{}\n{}{}The search state:\n{}\n{}", task, follow_ups, to_string(audit),
                     found, action, comparison, state, history);
}

} // namespace tik::agent
