#include "src/report/text_graph.h"

#include <algorithm>

namespace tik::report {
namespace {

// A lane is a column of the drawing that leads down to the vertex it waits for. At most one lane waits for a vertex: a second
// branch that reaches the same parent is joined to the first lane at once.
using Lane = std::optional<ir::ImplementationId>;

enum Side : unsigned { up = 1, down = 2, left = 4, right = 8 };

std::string_view box(unsigned sides, bool unicode) {
  static constexpr std::string_view boxes[16] = {" ", "│", "│", "│", "─", "╯", "╮", "┤",
                                                 "─", "╰", "╭", "├", "─", "┴", "┬", "┼"};
  static constexpr std::string_view ascii[16] = {" ", "|", "|", "|", "-", "'", ".", "+",
                                                 "-", "`", ",", "+", "-", "+", "+", "+"};
  return (unicode ? boxes : ascii)[sides];
}

std::size_t find_lane(std::vector<Lane> const& lanes, Lane const& wanted) {
  return static_cast<std::size_t>(std::find(lanes.begin(), lanes.end(), wanted) - lanes.begin());
}

// The leftmost free lane that is not left of `from`; a new one at the right when there is none.
std::size_t free_lane(std::vector<Lane>& lanes, std::size_t from) {
  for (std::size_t i = from; i < lanes.size(); ++i)
    if (!lanes[i]) return i;
  lanes.emplace_back();
  return lanes.size() - 1;
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string vertex_line(std::vector<Lane> const& lanes, std::size_t own, std::string const& mark, bool unicode) {
  std::string line;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (i > 0) line += ' ';
    line += i == own ? mark : std::string(box(lanes[i] ? up | down : 0, unicode));
  }
  return trimmed(std::move(line));
}

// A line that leads from lane `from` sideways to lane `to`; `before` and `after` say which lanes go on above and below it.
std::string connecting_line(std::vector<Lane> const& before, std::vector<Lane> const& after, std::size_t from, std::size_t to,
                            bool unicode) {
  std::size_t const first = std::min(from, to), last = std::max(from, to);
  std::size_t const size = std::max(before.size(), after.size());
  std::string line;
  for (std::size_t i = 0; i < size; ++i) {
    unsigned sides = 0;
    if (i < before.size() && before[i]) sides |= up;
    if (i < after.size() && after[i]) sides |= down;
    if (i > first && i <= last) sides |= left;
    if (i >= first && i < last) sides |= right;
    if (i > 0) line += box(i > first && i <= last ? left | right : 0, unicode);
    line += box(sides, unicode);
  }
  return trimmed(std::move(line));
}

} // namespace

std::vector<GraphLine> draw_graph(std::vector<GraphVertex> const& vertices, GraphStyle style) {
  std::vector<GraphLine> lines;
  std::vector<Lane> lanes;
  for (GraphVertex const& vertex : vertices) {
    std::size_t own = find_lane(lanes, vertex.id);
    if (own == lanes.size()) {
      own = free_lane(lanes, 0);
      lanes[own] = vertex.id;
    }
    lines.push_back({vertex_line(lanes, own, vertex.mark, style.unicode), vertex.id});

    // Further parents first: their lines leave the vertex while its own lane still stands.
    for (std::size_t i = 1; i < vertex.parents.size(); ++i) {
      std::vector<Lane> const before = lanes;
      std::size_t target = find_lane(lanes, vertex.parents[i]);
      if (target == lanes.size()) {
        target = free_lane(lanes, own + 1);
        lanes[target] = vertex.parents[i];
      }
      lines.push_back({connecting_line(before, lanes, own, target, style.unicode), std::nullopt});
    }

    std::vector<Lane> const before = lanes;
    lanes[own].reset();
    if (!vertex.parents.empty()) {
      std::size_t const target = find_lane(lanes, vertex.parents[0]);
      if (target == lanes.size()) {
        lanes[own] = vertex.parents[0];
      } else {
        lines.push_back({connecting_line(before, lanes, own, target, style.unicode), std::nullopt});
      }
    }
    while (!lanes.empty() && !lanes.back()) lanes.pop_back();
  }
  return lines;
}

} // namespace tik::report
