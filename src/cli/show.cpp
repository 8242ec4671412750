// `tik show`: one record with its links in both directions.
#include <fmt/format.h>

#include "src/cli/commands.h"
#include "src/cli/diff_text.h"
#include "src/cli/report_text.h"
#include "src/ir/any_id.h"
#include "src/report/attempt.h"
#include "src/report/format.h"
#include "src/report/links.h"
#include "src/search/search.h"

namespace tik::cli {
namespace {

using Json = nlohmann::ordered_json;

// A record ready to be shown: the body for programs, the text for people.
struct Shown {
  std::string type;
  Json record;
  Json state = Json::object();
  std::string text;
};

std::string line(std::string_view name, std::string_view value) {
  return value.empty() ? std::string() : fmt::format("{:<15} {}\n", name, report::wrap(value, 96, 16));
}

std::string names(std::vector<spec::EntryPoint> const& entry_points) {
  std::vector<std::string> list;
  for (spec::EntryPoint const entry_point : entry_points) list.emplace_back(spec::to_string(entry_point));
  return report::join(list, ", ");
}

Result<Shown> show(search::Search const& search, ir::ImplementationId id, Console const&) {
  ir::Store const& store = search.store();
  TIK_TRY(ir::Implementation const record, store.implementation(id));
  TIK_TRY(std::vector<report::Attempt> const attempts, report::describe_attempts(search.view(), {id}));
  report::Attempt const& attempt = attempts.front();
  Shown shown{"implementation", ir::to_json(record), report::to_json(attempt), {}};
  std::string const outcome = report::outcome_words(attempt) + (attempt.incumbent ? ", the incumbent" : "");
  shown.text += line("outcome", outcome) + line("found", attempt.failure);
  if (attempt.total_us)
    shown.text += line("T", fmt::format("{}, {} as fast as the root", report::latency(*attempt.total_us),
                                        attempt.speedup ? report::ratio(*attempt.speedup) : "-"));
  if (attempt.status) shown.text += line("branch", ir::to_string(*attempt.status));
  if (attempt.form) shown.text += line("form", ir::to_string(*attempt.form));
  shown.text += line("mechanism", attempt.mechanism) + line("commit", record.commit) +
                line("source hash", record.source_sha256) + line("target", record.target) + line("created", record.created_at);
  shown.text += line("files of full", report::join(record.manifest.full_files, ", ")) +
                line("of decode", report::join(record.manifest.decode_files, ", ")) +
                line("of both", report::join(record.manifest.shared_files, ", "));
  for (spec::DispatchRule const& rule : record.manifest.dispatch)
    shown.text += line("dispatch", fmt::format("{}: {} when {}", spec::to_string(rule.entry_point), rule.variant, rule.when));
  for (spec::NumericalRequirement const& numerics : record.manifest.numerics)
    shown.text += line(spec::to_string(numerics.risk), numerics.requirement);
  return shown;
}

Result<Shown> show(search::Search const& search, ir::OpportunityId id, Console const&) {
  ir::Store const& store = search.store();
  TIK_TRY(ir::Opportunity const record, store.opportunity(id));
  TIK_TRY(std::optional<ir::Withdrawal> const withdrawal, store.withdrawal(id));
  bool const pending = search.state().pending.contains(id);

  Shown shown{"opportunity", ir::to_json(record), Json::object(), {}};
  shown.state["pending"] = pending;
  shown.state["withdrawn"] = withdrawal ? Json(withdrawal->reason) : Json(nullptr);
  shown.text = line("kind", ir::to_string(record.kind)) + line("mechanism", record.mechanism) +
               line("workloads", report::join(record.workloads, ", ")) + line("entry points", names(record.entry_points)) +
               line("supported by", record.evidence_note) + line("created", record.created_at);
  shown.text += line("now", pending ? "pending" : withdrawal ? "withdrawn: " + withdrawal->reason : "taken");
  return shown;
}

Result<Shown> show(search::Search const& search, ir::ActionId id, Console const& console) {
  TIK_TRY(ir::Action const record, search.store().action(id));
  Shown shown{"action", ir::to_json(record), Json::object(), {}};
  shown.text = line("form", ir::to_string(record.form)) + line("scope", record.scope) +
               line("expected", record.expected_effect) + line("contradicted by", record.contradiction) +
               line("workloads", report::join(record.workloads, ", ")) + line("variants", report::join(record.variants, ", ")) +
               line("regions", report::join(record.regions, ", "));
  for (ir::NumericalRisk const& risk : record.risks)
    shown.text += line("risk", fmt::format("{}: {}", spec::to_string(risk.risk), risk.note));
  shown.text += line("agent", record.agent) + line("created", record.created_at);
  shown.text += '\n' + diff_text(record.diff, console);
  return shown;
}

Result<Shown> show(search::Search const& search, ir::AuditId id, Console const& console) {
  TIK_TRY(ir::Audit const record, search.store().audit(id));
  Shown shown{"audit", ir::to_json(record), Json::object(), {}};
  std::optional<double> const total = record.report.total_us(search.specification());
  shown.state["verified"] = record.report.verified();
  shown.state["total_us"] = total ? Json(*total) : Json(nullptr);
  if (total) shown.text += line("T", report::latency(*total));
  shown.text += report_text(record.report, console);
  return shown;
}

Result<Shown> show(search::Search const& search, ir::LineageId id, Console const&) {
  TIK_TRY(ir::LineageDecision const record, search.store().lineage_decision(id));
  Shown shown{"lineage decision", ir::to_json(record), Json::object(), {}};
  shown.text = line("status", ir::to_string(record.status)) + line("interpretation", record.interpretation) +
               line("reason", record.reason) + line("agent", record.agent) + line("created", record.created_at);
  return shown;
}

} // namespace

Result<int> execute(Show const& options, Console const& console) {
  TIK_TRY(ir::AnyId const any, ir::parse_any_id(options.id));
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  TIK_TRY(Shown const shown, std::visit([&](auto id) { return show(search, id, console); }, any));
  TIK_TRY(report::Links const links, report::links_of(search.view(), any));
  if (options.json) {
    Json json;
    json["schema"] = 1;
    json["type"] = shown.type;
    json["id"] = options.id;
    json["record"] = shown.record;
    for (auto const& [name, ids] : links) json["links"][name] = ids;
    json["state"] = shown.state;
    print_json(json);
    return 0;
  }
  std::string text = console.paint(fmt::format("{} {}", shown.type, options.id), Paint::bold) + '\n';
  for (auto const& [name, ids] : links)
    if (!ids.empty()) text += line(name, report::join(ids, " "));
  print(text + shown.text);
  return 0;
}

} // namespace tik::cli
