#include "src/cli/hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/files.h"
#include "src/base/scratch_folder.h"
#include "src/cli/interrupt.h"
#include "src/cli/report_text.h"
#include "src/evaluator/bundle_evaluation.h"
#include "src/ir/any_id.h"
#include "src/report/format.h"

namespace tik::cli {
namespace {

Result<std::string> write_bundle_file(evaluator::Bundle const& bundle, std::filesystem::path const& file) {
  TIK_TRY(std::string const bytes, evaluator::encode_bundle(bundle));
  TIK_CHECK(write_file(file, bytes));
  std::vector<std::string> ids;
  for (evaluator::BundledSource const& candidate : bundle.candidates) ids.push_back(candidate.id);
  return fmt::format("{}: {}{}, {} KiB\nNext, on the other host: tik evaluate --bundle {} --out reports\n", file.string(),
                     report::join(ids, ", "), bundle.incumbent ? " beside " + bundle.incumbent->id : "",
                     (bytes.size() + 1023) / 1024, file.filename().string());
}

nlohmann::ordered_json ids_to_json(std::vector<ir::ImplementationId> const& ids) {
  auto json = nlohmann::ordered_json::array();
  for (ir::ImplementationId const id : ids) json.push_back(to_string(id));
  return json;
}

void print_applied(search::TakenIn const& taken, search::State const& state, Audit const& options) {
  std::string next;
  for (ir::Audit const& audit : taken.audits) {
    print(fmt::format("{} of {}: {}\n", to_string(audit.id), to_string(audit.implementation),
                      verdict_text(state, audit.implementation)));
    if (next.empty()) next = fmt::format("Next: tik decide {}{}\n", to_string(audit.id), search_option(options.search));
  }
  for (ir::ImplementationId const id : taken.known)
    print(fmt::format("{}: recorded before as {}\n", to_string(id), to_string(*state.implementations.at(id).audit)));
  for (ir::ImplementationId const id : taken.held_back)
    print(fmt::format(
        "{}: not recorded: it was measured beside an earlier incumbent, and its gain over {} is within the noise of "
        "the two measurements. It waits: audit it beside {}.\n",
        to_string(id), to_string(*state.incumbent), to_string(*state.incumbent)));
  print(next);
}

// What became of reports, as text or as one document.
void report_applied(search::TakenIn const& taken, search::State const& state, Audit const& options) {
  if (!options.json) return print_applied(taken, state, options);
  auto audits = nlohmann::ordered_json::array();
  for (ir::Audit const& audit : taken.audits) {
    search::ImplementationState const& implementation = state.implementations.at(audit.implementation);
    audits.push_back({{"id", to_string(audit.id)},
                      {"implementation", to_string(audit.implementation)},
                      {"verified", implementation.verified},
                      {"promoted", implementation.promoted}});
  }
  print_json({{"schema", 1},
              {"audits", std::move(audits)},
              {"known", ids_to_json(taken.known)},
              {"held_back", ids_to_json(taken.held_back)}});
}

} // namespace

std::string search_option(std::filesystem::path const& search) { return search == "." ? "" : " -C " + search.string(); }

std::string verdict_text(search::State const& state, ir::ImplementationId id) {
  search::ImplementationState const& implementation = state.implementations.at(id);
  if (implementation.promoted && implementation.total_us)
    return "promoted, " + report::ratio(state.root_total_us / *implementation.total_us) + " as fast as the root";
  return implementation.verified ? "verified, not promoted" : "not verified";
}

Result<std::optional<evaluator::HostCommand>> host_command(OnHost const& options) {
  if (options.runner.empty()) return std::nullopt;
  evaluator::HostCommand command{options.runner, options.runner_seconds, options.runner_tries};
  TIK_CHECK(evaluator::check_host_command(command));
  return command;
}

Result<search::RootJudge> root_judge(New const& options, StageLine& line) {
  TIK_TRY(auto const host, host_command(options));
  if (!options.apply.empty())
    return [folder = options.apply](evaluator::Bundle const&) -> Result<evaluator::Report> {
      TIK_TRY(std::vector<evaluator::HostReport> reports, evaluator::read_reports(folder));
      for (evaluator::HostReport& entry : reports)
        if (entry.id == "I0") return std::move(entry.report);
      return input_error(
          fmt::format("{}: no report on I0 is there: name what the host made of the root's bundle.", folder.string()));
    };
  if (!host) return search::RootJudge{};
  return [command = *host, &line](evaluator::Bundle const& bundle) -> Result<evaluator::Report> {
    TIK_TRY(ScratchFolder const scratch, ScratchFolder::temporary("tik"));
    line.stage("on the host", 0);
    evaluator::HostTask const task{bundle, scratch.path(), [&](std::string const& sentence) { line.note(sentence); },
                                   &Interrupt::flag()};
    TIK_TRY(std::vector<evaluator::HostReport> reports, evaluator::evaluate_on_host(command, task));
    return std::move(reports.front().report);
  };
}

Result<int> write_root_bundle(New const& options) {
  TIK_TRY(evaluator::Bundle const bundle, search::Search::root_bundle(options.specification, options.root));
  TIK_TRY(std::string const text, write_bundle_file(bundle, options.bundle));
  print(text + fmt::format("Then here: tik new {} --spec {}{} --apply reports\n", options.folder.string(),
                           options.specification.string(), options.root.empty() ? "" : " --root " + options.root.string()));
  return 0;
}

Result<int> write_bundle(Audit const& options) {
  TIK_TRY(std::vector<ir::ImplementationId> const ids, ir::parse_ids<'I'>(options.implementations));
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  TIK_TRY(evaluator::Bundle const bundle, search.bundle(ids));
  TIK_TRY(std::string const text, write_bundle_file(bundle, options.bundle));
  if (options.json) {
    auto json = nlohmann::ordered_json{{"schema", 1}, {"bundle", options.bundle.string()}};
    json["candidates"] = nlohmann::ordered_json::array();
    for (evaluator::BundledSource const& candidate : bundle.candidates) json["candidates"].push_back(candidate.id);
    print_json(json);
    return 0;
  }
  print(text + fmt::format("Then here: tik audit --apply reports{}\n", search_option(options.search)));
  return 0;
}

Result<int> apply_reports(Audit const& options, Console const& console) {
  if (!options.implementations.empty())
    return input_error("--apply takes in all reports of the folder: name no implementation with it.");
  TIK_TRY(std::vector<evaluator::HostReport> reports, evaluator::read_reports(options.apply));
  TIK_TRY(search::Search search, search::Search::open(options.search, search::Search::Mode::write));
  StageLine line(console, "taking reports in");
  TIK_TRY(search::TakenIn const taken, search.take_in(std::move(reports), &line));
  line.finish();
  report_applied(taken, search.state(), options);
  return 0;
}

Result<int> audit_together(Audit const& options, Console const& console) {
  TIK_TRY(std::vector<ir::ImplementationId> const ids, ir::parse_ids<'I'>(options.implementations));
  TIK_TRY(auto const host, host_command(options));
  if (!host)
    return input_error("Here one implementation is audited at a time: name one, or a --runner or a --bundle for several.");
  TIK_TRY(search::Search search, search::Search::open(options.search, search::Search::Mode::write));
  search.audit_on(*host);
  Interrupt const interrupt;
  StageLine line(console, "auditing " + report::id_list(ids));
  Result<search::TakenIn> const taken = search.audit_together(ids, &line, &Interrupt::flag());
  line.finish();
  if (!taken) return tl::unexpected(taken.error());
  report_applied(*taken, search.state(), options);
  return 0;
}

Result<int> evaluate_bundle(Evaluate const& options, Console const& console) {
  TIK_TRY(evaluator::Bundle const bundle, evaluator::read_bundle(options.bundle));
  TIK_TRY(ScratchFolder const scratch, ScratchFolder::temporary("tik"));
  std::filesystem::path const cache = scratch.path() / "cache", work = scratch.path() / "work";
  std::filesystem::create_directories(cache);
  std::filesystem::create_directories(work);

  Interrupt const interrupt;
  std::optional<StageLine> line;
  std::size_t finished = 0;
  evaluator::BundleEvaluation evaluation{bundle, options.out, work, cache, {}, {}, &Interrupt::flag(), options.devices};
  evaluation.progress = [&](evaluator::BundledSource const& candidate, std::string_view stage, double fraction) {
    if (!line) line.emplace(console, fmt::format("{} of {} finished", finished, bundle.candidates.size()));
    line->stage(fmt::format("{} {}", candidate.id, stage), fraction);
  };
  evaluation.done = [&](evaluator::HostReport const& entry, bool kept) {
    line.reset();
    ++finished;
    std::optional<double> const total = entry.report.total_us(bundle.specification);
    std::string const failure = failure_text(entry.report);
    // With --json standard output is one document; these lines show that the work goes on.
    fmt::print(options.json ? stderr : stdout, "{}/{} {}: {}{}{}\n", finished, bundle.candidates.size(), entry.id,
               failure.empty() ? "verified" : failure, total ? ", T " + report::latency(*total) : "",
               kept ? ", kept from before" : fmt::format(", {:.1f} s", entry.report.seconds));
    std::fflush(options.json ? stderr : stdout);
  };
  Result<std::vector<evaluator::HostReport>> const reports = evaluator::evaluate_bundle(evaluation);
  line.reset();
  if (!reports && reports.error().kind == ErrorKind::cancelled)
    return tl::unexpected(
        Error{ErrorKind::cancelled,
              fmt::format("Interrupted with {} of {} in {}; the same command goes on from there.", finished,
                          report::count(static_cast<std::int64_t>(bundle.candidates.size()), "report"), options.out.string())});
  if (!reports) return tl::unexpected(reports.error());
  if (options.json)
    print_json(evaluator::to_json(bundle, *reports));
  else
    print(fmt::format("reports  {}\nNext, where the search is: tik {} --apply {}\n", options.out.string(),
                      bundle.incumbent ? "audit" : "new ...", options.out.string()));
  return 0;
}

} // namespace tik::cli
