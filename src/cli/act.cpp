// `tik act`, `tik audit`, `tik decide`: the steps of the workflow one by one, with a person or a script as the agent.
#include <fmt/format.h>

#include "src/base/files.h"
#include "src/cli/commands.h"
#include "src/cli/hosts.h"
#include "src/cli/interrupt.h"
#include "src/cli/progress.h"
#include "src/cli/report_text.h"
#include "src/cli/words.h"
#include "src/ir/any_id.h"
#include "src/report/format.h"

namespace tik::cli {
namespace {

constexpr std::string_view words_file = "action.toml", source_folder = "source";

Result<void> must_be_free(std::filesystem::path const& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder, ignored)) return {};
  if (std::filesystem::is_directory(folder, ignored) && std::filesystem::is_empty(folder, ignored)) return {};
  return input_error(fmt::format("{}: it exists already; name a folder that is empty or absent.", folder.string()));
}

Result<agent::ManagementDraft> draft_from_options(Decide const& options, search::State const& state, ir::AuditId audit) {
  if (options.status.empty() || options.interpretation.empty() || options.reason.empty())
    return input_error("A decision needs --status, --interpretation and --reason, or all of them in a --file.");
  agent::DecisionDraft decision;
  TIK_TRY(decision.status, ir::branch_status_from(options.status));
  TIK_TRY(decision.evidence, ir::parse_ids<'U'>(options.evidence));
  decision.interpretation = options.interpretation;
  decision.reason = options.reason;
  if (!options.implementation.empty()) {
    TIK_TRY(decision.implementation, ir::parse_id<'I'>(options.implementation));
  } else if (auto const audited = state.audits.find(audit); audited != state.audits.end()) {
    decision.implementation = audited->second;
  }
  return agent::ManagementDraft{{std::move(decision)}, {}};
}

} // namespace

Result<int> execute(ActBegin const& options, Console const& console) {
  TIK_TRY(ir::OpportunityId const id, ir::parse_id<'O'>(options.opportunity));
  TIK_TRY(std::vector<ir::ImplementationId> const parents, ir::parse_ids<'I'>(options.parents));
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  TIK_TRY(ir::Opportunity const opportunity, search.store().opportunity(id));
  TIK_CHECK(search::may_be_parents(search.state(), parents));
  TIK_CHECK(search::may_take(search.state(), id, parents));
  TIK_CHECK(must_be_free(options.folder));
  std::error_code failure;
  std::filesystem::create_directories(options.folder, failure);
  if (failure) return machine_error(fmt::format("{}: cannot be created: {}.", options.folder.string(), failure.message()));
  TIK_TRY(agent::Workspace::CheckedOut const checked_out, search.check_out(parents, options.folder / source_folder));
  TIK_CHECK(write_file(options.folder / words_file, action_template(opportunity, parents, search.specification())));

  print(fmt::format("sources  {}\nwords    {}\n", checked_out.folder.string(), (options.folder / words_file).string()));
  if (!checked_out.conflicts.empty())
    print(fmt::format("{} {} could not be merged; the sources are those of {} alone\n",
                      console.paint("conflict:", Paint::warning), report::join(checked_out.conflicts, ", "),
                      to_string(parents[0])));
  print(fmt::format("Next: edit both, then tik act submit {}{}\n", options.folder.string(), search_option(options.search)));
  return 0;
}

Result<int> execute(ActSubmit const& options, Console const&) {
  TIK_TRY(agent::ActionDraft const draft, read_action(options.folder / words_file));
  TIK_TRY(search::Search search, search::Search::open(options.search, search::Search::Mode::write));
  auto const order = options.batch ? search::ActionOrder::batch : search::ActionOrder::sequential;
  TIK_TRY(auto const recorded, search.record_action(draft, options.folder / source_folder, options.agent, order));
  auto const& [action, implementation] = recorded;
  if (options.json) {
    print_json({{"schema", 1}, {"action", ir::to_json(action)}, {"implementation", ir::to_json(implementation)}});
    return 0;
  }
  print(fmt::format("{} made {} ({}) from {}, taking {}\nNext: tik audit{}\n", to_string(action.id),
                    to_string(implementation.id), ir::to_string(action.form), report::id_list(action.parents),
                    to_string(action.opportunity), search_option(options.search)));
  return 0;
}

Result<int> execute(Audit const& options, Console const& console) {
  if (!options.bundle.empty()) return write_bundle(options);
  if (!options.apply.empty()) return apply_reports(options, console);
  if (!options.profile.empty() && (!options.runner.empty() || options.implementations.size() > 1))
    return input_error("--profile is for one implementation that is audited here; leave --runner and the others out.");
  if (options.implementations.size() > 1) return audit_together(options, console);
  TIK_TRY(search::Search search, search::Search::open(options.search, search::Search::Mode::write));
  TIK_TRY(auto const host, host_command(options));
  if (host) search.audit_on(*host);
  search.profile(options.profile);
  std::optional<ir::ImplementationId> id = search.state().awaiting_audit;
  if (!options.implementations.empty()) {
    TIK_TRY(id, ir::parse_id<'I'>(options.implementations.front()));
    TIK_CHECK(search.store().implementation(*id));
  }
  if (!id) return input_error("No implementation waits for an audit; `tik act submit` makes one.");
  Interrupt const interrupt;
  StageLine line(console, "auditing " + to_string(*id));
  Result<ir::Audit> const audit = search.audit(*id, &line, &Interrupt::flag());
  line.finish();
  if (!audit) return tl::unexpected(audit.error());
  search::ImplementationState const& state = search.state().implementations.at(*id);
  if (options.json) {
    print_json({{"schema", 1}, {"audit", ir::to_json(*audit)}, {"verified", state.verified}, {"promoted", state.promoted}});
    return 0;
  }
  print(report_text(audit->report, console));
  print(fmt::format("{} of {}: {}\nNext: tik decide {}{}\n", to_string(audit->id), to_string(*id),
                    verdict_text(search.state(), *id), to_string(audit->id), search_option(options.search)));
  return 0;
}

Result<int> execute(Decide const& options, Console const&) {
  TIK_TRY(ir::AuditId const audit, ir::parse_id<'U'>(options.audit));
  agent::ManagementDraft draft;
  if (!options.file.empty()) {
    TIK_TRY(draft, read_decisions(options.file));
  }
  TIK_TRY(search::Search search, search::Search::open(options.search, search::Search::Mode::write));
  TIK_CHECK(search.store().audit(audit));
  if (options.file.empty()) {
    TIK_TRY(draft, draft_from_options(options, search.state(), audit));
  }
  TIK_TRY(std::vector<ir::LineageDecision> const recorded, search.record_management(draft, audit, options.agent));
  if (options.json) {
    nlohmann::ordered_json json = {{"schema", 1}, {"decisions", nlohmann::ordered_json::array()}};
    for (ir::LineageDecision const& decision : recorded) json["decisions"].push_back(ir::to_json(decision));
    print_json(json);
    return 0;
  }
  for (ir::LineageDecision const& decision : recorded)
    print(fmt::format("{}: {} {}{}\n", to_string(decision.id), ir::to_string(decision.status),
                      to_string(decision.implementation),
                      decision.follow_ups.empty() ? "" : ", follow-ups " + report::id_list(decision.follow_ups)));
  return 0;
}

} // namespace tik::cli
