// `tik log`: the lineage as a graph in text.
#include <fmt/format.h>

#include <map>

#include "src/cli/commands.h"
#include "src/report/attempt.h"
#include "src/report/format.h"
#include "src/report/text_graph.h"
#include "src/search/search.h"

namespace tik::cli {
namespace {

std::string mark_of(report::Attempt const& attempt, bool unicode) {
  switch (attempt.verdict) {
    case report::Verdict::promoted:
      return unicode ? "●" : "*";
    case report::Verdict::failed:
      return unicode ? "✗" : "x";
    case report::Verdict::unaudited:
      return "?";
    default:
      return unicode ? "○" : "o";
  }
}

Paint paint_of(report::Attempt const& attempt) {
  switch (attempt.verdict) {
    case report::Verdict::promoted:
      return Paint::good;
    case report::Verdict::failed:
      return Paint::bad;
    case report::Verdict::over_limit:
    case report::Verdict::unmeasured:
      return Paint::warning;
    default:
      return Paint::plain;
  }
}

std::string padded(std::string text, std::size_t columns) {
  std::size_t const have = report::width(text);
  return have < columns ? text + std::string(columns - have, ' ') : text;
}

std::string to_text(std::vector<report::Attempt> const& attempts, std::size_t total, Console const& console) {
  std::map<ir::ImplementationId, report::Attempt const*> by_id;
  std::vector<report::GraphVertex> vertices;
  for (report::Attempt const& attempt : attempts) {
    by_id[attempt.id] = &attempt;
    vertices.push_back({attempt.id, attempt.parents, mark_of(attempt, console.unicode)});
  }
  std::vector<report::GraphLine> const lines = report::draw_graph(vertices, {console.unicode});
  std::size_t columns = 0;
  for (report::GraphLine const& line : lines) columns = std::max(columns, report::width(line.graph));

  std::string text;
  for (report::GraphLine const& line : lines) {
    if (!line.id) {
      text += console.paint(line.graph, Paint::quiet) + '\n';
      continue;
    }
    report::Attempt const& attempt = *by_id.at(*line.id);
    std::string const outcome = report::outcome_words(attempt) + (attempt.incumbent ? " (best)" : "");
    std::string const speed = attempt.speedup ? report::ratio(*attempt.speedup) : "";
    std::string const total_us = attempt.total_us ? report::latency(*attempt.total_us) : "";
    std::string const status = attempt.status ? std::string(ir::to_string(*attempt.status)) : "";
    std::string const form = attempt.form ? std::string(ir::to_string(*attempt.form)) : "";
    std::string const facts = fmt::format("{:<6} {} {:>8} {:>7}  {:<10} {:<11} ", to_string(attempt.id),
                                          console.paint(padded(outcome, 19), paint_of(attempt)), total_us, speed, status, form);
    std::size_t const used = columns + 2 + 6 + 1 + 19 + 1 + 8 + 1 + 7 + 2 + 10 + 1 + 11 + 1;
    std::size_t const room = console.columns == 0 ? 80 : console.columns > used + 12 ? console.columns - used : 12;
    text += fmt::format("{}  {}{}\n", padded(line.graph, columns), facts, report::one_line(attempt.mechanism, room));
  }
  if (attempts.size() < total)
    text += fmt::format("{} older; --limit 0 shows all\n",
                        report::count(static_cast<std::int64_t>(total - attempts.size()), "implementation"));
  return text;
}

} // namespace

Result<int> execute(Log const& options, Console const& console) {
  TIK_TRY(search::Search const search, search::Search::open(options.search, search::Search::Mode::read));
  search::State const& state = search.state();
  TIK_TRY(std::vector<report::Attempt> const attempts,
          report::describe_attempts(search.view(), report::newest_first(state, options.limit)));
  std::size_t const total = state.implementations.size();
  if (!options.json) {
    print(to_text(attempts, total, console));
    return 0;
  }
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["implementations"] = total;
  json["attempts"] = nlohmann::ordered_json::array();
  for (report::Attempt const& attempt : attempts) json["attempts"].push_back(report::to_json(attempt));
  print_json(json);
  return 0;
}

} // namespace tik::cli
