// Positions for a directed acyclic graph, drawn in layers from left to right: every edge leads to a later layer.
#pragma once

#include <cstddef>
#include <vector>

namespace tik::report {

struct Point {
  double x = 0, y = 0;
};

// `from` and `to` are vertex numbers, from < to.
struct LayoutEdge {
  std::size_t from = 0, to = 0;
};

struct Layout {
  std::vector<Point> vertices;           // x: layer number; y: row, neighbours in a layer at least 1 apart, smallest 0
  std::vector<std::vector<Point>> edges; // per edge, the points it passes through, ends included, one per layer
  double layers = 0, rows = 0;           // extent: the largest x and y
};

// Layer of a vertex: its longest path from a source. Order within a layer: repeated barycenter sweeps (Sugiyama, Tagawa, Toda
// 1981), of which the order with the fewest crossings is kept. Rows: pulled towards the mean of the neighbours. Deterministic.
Layout layered_layout(std::size_t vertices, std::vector<LayoutEdge> const& edges);

} // namespace tik::report
