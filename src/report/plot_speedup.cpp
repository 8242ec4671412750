#include <fmt/format.h>

#include <algorithm>

#include "src/report/axis.h"
#include "src/report/format.h"
#include "src/report/plots.h"
#include "src/report/svg.h"

namespace tik::report {
namespace {

std::string_view mark_color(Attempt const& attempt) {
  switch (attempt.verdict) {
    case Verdict::promoted:
      return color::promoted;
    case Verdict::verified:
      return color::verified;
    case Verdict::over_limit:
    case Verdict::unmeasured:
      return color::limit;
    case Verdict::failed:
      return color::failed;
    case Verdict::unaudited:
      return color::waiting;
  }
  return color::waiting;
}

void draw_legend(Svg& svg, Point at) {
  struct Entry {
    std::string_view name, fill;
    bool cross;
  };
  static constexpr Entry entries[] = {{"promoted", color::promoted, false},
                                      {"verified, not promoted", color::verified, false},
                                      {"over a limit", color::limit, false},
                                      {"failed a check", color::failed, true}};
  for (Entry const& entry : entries) {
    if (entry.cross)
      svg.cross({at.x + 4, at.y - 4}, 3.5, {entry.fill, 2, ""});
    else
      svg.circle({at.x + 4, at.y - 4}, 4.5, entry.fill, {color::paper, 1, ""});
    svg.text({at.x + 14, at.y}, entry.name, {12, color::quiet, Anchor::start, false});
    at.x += 32 + 6.6 * static_cast<double>(entry.name.size());
  }
}

} // namespace

std::string plot_speedup(std::string const& search, std::vector<Attempt> const& attempts) {
  constexpr double width_px = 860, height_px = 400, left = 62, right = 24, top = 62, bottom = 58;
  Svg svg(width_px, height_px, fmt::format("Speedup by step of {}", search));
  svg.text({left, 24}, fmt::format("Speedup by step: {}", search), {15, color::ink, Anchor::start, true});
  draw_legend(svg, {left, 46});

  double highest = 1;
  for (Attempt const& attempt : attempts)
    if (attempt.speedup && attempt.verdict != Verdict::failed) highest = std::max(highest, *attempt.speedup);
  std::vector<double> const ticks = linear_ticks(highest * 1.04, 5);
  double const last_step = std::max<double>(1, static_cast<double>(attempts.size()) - 1);
  Scale const x{0, last_step, left, width_px - right, false};
  Scale const y{0, ticks.back(), height_px - bottom, top, false};

  for (double const tick : ticks) {
    svg.line({left, y(tick)}, {width_px - right, y(tick)}, {color::grid, 1, ""});
    svg.text({left - 8, y(tick) + 4}, fmt::format("{:g}x", tick), {12, color::quiet, Anchor::end, false});
  }
  if (highest > 1) svg.line({left, y(1)}, {width_px - right, y(1)}, {color::waiting, 1, "4 4"});
  for (double const tick : linear_ticks(last_step, 8)) {
    if (tick > last_step || tick != static_cast<int>(tick)) continue;
    svg.line({x(tick), y(0)}, {x(tick), y(0) + 5}, {color::waiting, 1, ""});
    svg.text({x(tick), y(0) + 20}, fmt::format("{:g}", tick), {12, color::quiet, Anchor::middle, false});
  }
  svg.text({(left + width_px - right) / 2, height_px - 14}, "step (audited candidate)",
           {12, color::quiet, Anchor::middle, false});

  std::vector<Point> staircase;
  double best = 1;
  for (std::size_t step = 0; step < attempts.size(); ++step) {
    double const at = x(static_cast<double>(step));
    staircase.push_back({at, y(best)});
    if (attempts[step].verdict == Verdict::promoted && attempts[step].speedup) best = *attempts[step].speedup;
    staircase.push_back({at, y(best)});
  }
  // Many marks are drawn small; the staircase and the promotions lie above the others, so that they never hide the curve.
  double const radius = attempts.size() <= 80 ? 4.5 : attempts.size() <= 400 ? 3 : 1.6;
  double const rim = attempts.size() <= 400 ? 1.5 : 0;
  auto const draw = [&](std::size_t step) {
    Attempt const& attempt = attempts[step];
    Point const at{x(static_cast<double>(step)), attempt.speedup ? y(*attempt.speedup) : y(0)};
    std::string const tooltip = fmt::format("{}: {}{}", to_string(attempt.id), outcome_words(attempt),
                                            attempt.speedup ? ", " + ratio(*attempt.speedup) : std::string());
    if (attempt.verdict == Verdict::failed)
      svg.cross({at.x, y(0)}, radius * 0.9, {color::failed, radius > 2 ? 2.0 : 1.0, ""}, tooltip);
    else
      svg.circle(at, attempt.verdict == Verdict::promoted ? radius + 1 : radius, mark_color(attempt), {color::paper, rim, ""},
                 tooltip);
  };
  for (std::size_t step = 0; step < attempts.size(); ++step)
    if (attempts[step].verdict != Verdict::promoted) draw(step);
  svg.polyline(staircase, {color::promoted, 2.5, ""});
  for (std::size_t step = 0; step < attempts.size(); ++step)
    if (attempts[step].verdict == Verdict::promoted) draw(step);
  // The final figure stands above the end of the staircase, where nothing else can be.
  svg.text({width_px - right, y(best) - 10}, ratio(best), {14, color::promoted, Anchor::end, true});
  return svg.str();
}

} // namespace tik::report
