#include <fmt/format.h>

#include <algorithm>

#include "src/report/axis.h"
#include "src/report/format.h"
#include "src/report/plots.h"
#include "src/report/svg.h"

namespace tik::report {
std::string plot_latency(std::string const& search, std::string const& best, std::vector<WorkloadPair> const& workloads) {
  constexpr double width_px = 860, row_px = 34, top = 84, bottom = 54, right = 84;
  std::size_t longest = 8;
  double smallest = 1e300, largest = 0;
  for (WorkloadPair const& workload : workloads) {
    longest = std::max(longest, width(workload.id));
    smallest = std::min({smallest, workload.root_us, workload.best_us});
    largest = std::max({largest, workload.root_us, workload.best_us, workload.limit_us});
  }
  double const left = 28 + 7.2 * static_cast<double>(std::min<std::size_t>(longest, 32));
  double const rows = static_cast<double>(workloads.size());
  double const height_px = top + rows * row_px + bottom;
  double const floor = top + rows * row_px;

  Svg svg(width_px, height_px, fmt::format("Latency by workload of {}", search));
  svg.text({24, 24}, fmt::format("Latency by workload: root and {} of {}", best, search),
           {15, color::ink, Anchor::start, true});
  svg.circle({28, 45}, 5, color::waiting, {color::paper, 1, ""});
  svg.text({40, 49}, "root", {12, color::quiet, Anchor::start, false});
  svg.circle({92, 45}, 5.5, color::promoted, {color::paper, 1, ""});
  svg.text({104, 49}, fmt::format("best ({})", best), {12, color::quiet, Anchor::start, false});
  svg.line({190, 39}, {190, 51}, {color::limit, 2, ""});
  svg.text({198, 49}, "limit", {12, color::quiet, Anchor::start, false});
  if (workloads.empty() || smallest <= 0) {
    svg.text({24, top}, "no workload has a latency", {12, color::quiet, Anchor::start, false});
    return svg.str();
  }

  Scale const x{smallest / 1.25, largest * 1.15, left, width_px - right, true};
  for (double const tick : logarithmic_ticks(x.from_value, x.to_value)) {
    svg.line({x(tick), top - 8}, {x(tick), floor}, {color::grid, 1, ""});
    svg.text({x(tick), floor + 18}, tick >= 1000 ? fmt::format("{:g} ms", tick / 1000) : fmt::format("{:g} us", tick),
             {12, color::quiet, Anchor::middle, false});
  }
  svg.text({(left + width_px - right) / 2, height_px - 12}, "recorded latency, logarithmic axis",
           {12, color::quiet, Anchor::middle, false});
  svg.text({width_px - 20, top - 14}, "root / best", {12, color::quiet, Anchor::end, false});

  for (std::size_t i = 0; i < workloads.size(); ++i) {
    WorkloadPair const& workload = workloads[i];
    double const y = top + (static_cast<double>(i) + 0.5) * row_px;
    bool const slower = workload.best_us > workload.root_us;
    svg.text({left - 12, y + 4}, one_line(workload.id, 32), {13, color::ink, Anchor::end, false});
    svg.line({x(workload.root_us), y}, {x(workload.best_us), y}, {slower ? color::limit : color::promoted, 4, ""});
    svg.line({x(workload.limit_us), y - 8}, {x(workload.limit_us), y + 8}, {color::limit, 2, ""});
    svg.circle({x(workload.root_us), y}, 5.5, color::waiting, {color::paper, 1.5, ""}, "root: " + latency(workload.root_us));
    svg.circle({x(workload.best_us), y}, 6, color::promoted, {color::paper, 1.5, ""}, "best: " + latency(workload.best_us));
    svg.text({width_px - 20, y + 4}, ratio(workload.root_us / workload.best_us),
             {13, slower ? color::limit : color::promoted, Anchor::end, true});
  }
  return svg.str();
}

} // namespace tik::report
