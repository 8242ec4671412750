#include <fmt/format.h>

#include <algorithm>

#include "src/report/axis.h"
#include "src/report/format.h"
#include "src/report/plots.h"
#include "src/report/svg.h"

namespace tik::report {
std::string plot_efficiency(std::string const& search, std::vector<StepUsage> const& steps) {
  constexpr double width_px = 860, height_px = 360, left = 62, right = 24, top = 48, bottom = 58;
  Svg svg(width_px, height_px, fmt::format("Efficiency by step of {}", search));
  svg.text({left, 24}, fmt::format("Efficiency by step: {}", search), {15, color::ink, Anchor::start, true});
  double highest = 0.1;
  for (StepUsage const& step : steps) highest = std::max(highest, efficiency(step.speedup, step.tokens).value_or(0));
  std::vector<double> const ticks = linear_ticks(highest * 1.04, 5);
  double const last_step = std::max<double>(1, static_cast<double>(steps.size()));
  Scale const x{0, last_step, left, width_px - right, false};
  Scale const y{0, ticks.back(), height_px - bottom, top, false};
  for (double const tick : ticks) {
    svg.line({left, y(tick)}, {width_px - right, y(tick)}, {color::grid, 1, ""});
    svg.text({left - 8, y(tick) + 4}, fmt::format("{:g}", tick), {12, color::quiet, Anchor::end, false});
  }
  for (double const tick : linear_ticks(last_step, 8)) {
    if (tick > last_step || tick != static_cast<int>(tick)) continue;
    svg.text({x(tick), y(0) + 20}, fmt::format("{:g}", tick), {12, color::quiet, Anchor::middle, false});
  }
  svg.text({(left + width_px - right) / 2, height_px - 14}, "step; (speedup - 1) per million model tokens",
           {12, color::quiet, Anchor::middle, false});
  std::vector<Point> points;
  for (StepUsage const& step : steps)
    if (auto const value = efficiency(step.speedup, step.tokens)) points.push_back({x(step.step), y(*value)});
  svg.polyline(points, {color::promoted, 2.5, ""});
  if (!points.empty())
    svg.text({points.back().x, points.back().y - 10},
             fmt::format("{:.3g}", efficiency(steps.back().speedup, steps.back().tokens).value_or(0)),
             {14, color::promoted, Anchor::end, true});
  return svg.str();
}

} // namespace tik::report
