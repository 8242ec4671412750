#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/report/format.h"
#include "src/report/layered_layout.h"
#include "src/report/plots.h"
#include "src/report/svg.h"

namespace tik::report {
namespace {

constexpr std::size_t most_vertices = 220;
constexpr double widest_layer_px = 108, narrowest_layer_px = 46, widest_px = 6000, radius = 17, margin = 46;

struct Look {
  std::string_view fill, text;
};

Look look_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::promoted:
      return {color::promoted, color::paper};
    case Verdict::verified:
      return {"#dbeafe", "#1e3a8a"};
    case Verdict::over_limit:
    case Verdict::unmeasured:
      return {"#fef3c7", "#78350f"};
    case Verdict::failed:
      return {"#fee2e2", "#991b1b"};
    case Verdict::unaudited:
      return {"#f3f4f6", color::ink};
  }
  return {"#f3f4f6", color::ink};
}

// Outline: what became of the branch. Archived branches are dashed, abandoned ones dotted.
Stroke outline_of(Attempt const& attempt) {
  std::string_view stroke = color::verified;
  bool const set_aside = attempt.status == ir::BranchStatus::archived || attempt.status == ir::BranchStatus::abandoned;
  if (attempt.verdict == Verdict::promoted) stroke = set_aside ? "#99f6e4" : color::promoted;
  if (attempt.verdict == Verdict::failed) stroke = color::failed;
  if (attempt.verdict == Verdict::over_limit || attempt.verdict == Verdict::unmeasured) stroke = color::limit;
  if (attempt.verdict == Verdict::unaudited) stroke = color::waiting;
  if (attempt.status == ir::BranchStatus::archived) return {stroke, 2, "5 3"};
  if (attempt.status == ir::BranchStatus::abandoned) return {stroke, 2, "1.5 3"};
  return {stroke, 1.5, ""};
}

// The attempts to draw, oldest first: all of them, or the best path, whatever is still active or archived, and the newest.
std::vector<Attempt> select(std::vector<Attempt> const& attempts) {
  std::vector<Attempt> sorted = attempts;
  std::sort(sorted.begin(), sorted.end(), [](Attempt const& a, Attempt const& b) { return a.id < b.id; });
  if (sorted.size() <= most_vertices) return sorted;
  std::size_t room = most_vertices;
  std::vector<char> chosen(sorted.size(), 0);
  auto const choose = [&](auto const& wanted) {
    for (std::size_t i = sorted.size(); i-- > 0 && room > 0;)
      if (!chosen[i] && wanted(sorted[i])) {
        chosen[i] = 1;
        --room;
      }
  };
  choose([](Attempt const& attempt) { return attempt.on_best_path; });
  choose([](Attempt const& attempt) { return attempt.verdict == Verdict::promoted; });
  choose([](Attempt const&) { return true; });
  std::vector<Attempt> kept;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (chosen[i]) kept.push_back(sorted[i]);
  return kept;
}

void draw_legend(Svg& svg, double y) {
  struct Entry {
    std::string_view name;
    Verdict verdict;
    std::optional<ir::BranchStatus> status;
  };
  static Entry const entries[] = {{"promoted", Verdict::promoted, {}},
                                  {"verified", Verdict::verified, {}},
                                  {"over a limit", Verdict::over_limit, {}},
                                  {"failed", Verdict::failed, {}},
                                  {"archived", Verdict::verified, ir::BranchStatus::archived},
                                  {"abandoned", Verdict::verified, ir::BranchStatus::abandoned}};
  double x = margin - 18;
  for (Entry const& entry : entries) {
    Attempt sample;
    sample.verdict = entry.verdict;
    sample.status = entry.status;
    svg.circle({x + 6, y - 4}, 6, look_of(entry.verdict).fill, outline_of(sample));
    svg.text({x + 18, y}, entry.name, {12, color::quiet, Anchor::start, false});
    x += 40 + 6.7 * static_cast<double>(entry.name.size());
  }
  svg.line({x, y - 4}, {x + 22, y - 4}, {color::promoted, 3.5, ""});
  svg.text({x + 28, y}, "path to the best", {12, color::quiet, Anchor::start, false});
}

std::string below(Attempt const& attempt) {
  if (attempt.verdict == Verdict::failed) return attempt.failed_stage.empty() ? "failed" : attempt.failed_stage;
  if (attempt.speedup) return ratio(*attempt.speedup);
  return std::string(to_string(attempt.verdict));
}

} // namespace

std::string plot_lineage(std::string const& search, std::vector<Attempt> const& attempts) {
  std::vector<Attempt> const drawn = select(attempts);
  std::map<ir::ImplementationId, std::size_t> number;
  for (std::size_t i = 0; i < drawn.size(); ++i) number[drawn[i].id] = i;
  std::vector<LayoutEdge> edges;
  for (std::size_t i = 0; i < drawn.size(); ++i)
    for (ir::ImplementationId const parent : drawn[i].parents)
      if (auto const found = number.find(parent); found != number.end()) edges.push_back({found->second, i});
  Layout const layout = layered_layout(drawn.size(), edges);

  constexpr double row_px = 58, top = 96, caption_px = 30;
  double const layer_px = std::clamp(widest_px / std::max(layout.layers, 1.0), narrowest_layer_px, widest_layer_px);
  double const width_px = std::max(780.0, 2 * margin + layout.layers * layer_px);
  double const height_px = top + layout.rows * row_px + 2 * radius + caption_px + 30;
  auto const place = [&](Point at) { return Point{margin + at.x * layer_px, top + radius + at.y * row_px}; };

  Svg svg(width_px, height_px, fmt::format("Lineage of {}", search));
  svg.text({margin - 18, 26}, fmt::format("Lineage: {}", search), {15, color::ink, Anchor::start, true});
  draw_legend(svg, 52);

  auto const on_path = [&](LayoutEdge const& edge) { return drawn[edge.from].on_best_path && drawn[edge.to].on_best_path; };
  for (bool const heavy : {false, true}) // the path to the best lies above the other edges
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (on_path(edges[i]) != heavy) continue;
      std::vector<Point> points;
      for (Point const at : layout.edges[i]) points.push_back(place(at));
      svg.curve(points, heavy ? Stroke{color::promoted, 3.5, ""} : Stroke{"#cbd5e1", 1.5, ""});
    }
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    Attempt const& attempt = drawn[i];
    Point const at = place(layout.vertices[i]);
    Look const look = look_of(attempt.verdict);
    if (attempt.incumbent) svg.circle(at, radius + 4, color::paper, {color::promoted, 2.5, ""});
    svg.circle(at, radius, look.fill, outline_of(attempt),
               fmt::format("{}: {}. {}{}", to_string(attempt.id), attempt.mechanism, outcome_words(attempt),
                           attempt.status ? ", " + std::string(to_string(*attempt.status)) : std::string()));
    svg.text({at.x, at.y + 4}, to_string(attempt.id), {11, look.text, Anchor::middle, true});
    svg.text({at.x, at.y + radius + (attempt.incumbent ? 16 : 13)}, below(attempt), {10, color::quiet, Anchor::middle, false});
  }
  std::string caption = "Left to right: derivation. The ringed vertex is the incumbent.";
  if (drawn.size() < attempts.size())
    caption += fmt::format(" {} of {} implementations are drawn: the best path, promotions and the newest.", drawn.size(),
                           attempts.size());
  svg.text({margin - 18, height_px - 14}, caption, {12, color::quiet, Anchor::start, false});
  return svg.str();
}

} // namespace tik::report
