// Invariants of the layered layout, over random graphs.
#include "src/report/layered_layout.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

namespace tik::report {
namespace {

// A graph as derivations make it: every vertex but the first has one parent or two.
std::vector<LayoutEdge> random_derivations(std::size_t vertices) {
  std::vector<LayoutEdge> edges;
  for (std::size_t i = 1; i < vertices; ++i) {
    std::size_t const first = *rc::gen::inRange<std::size_t>(0, i), second = *rc::gen::inRange<std::size_t>(0, i);
    edges.push_back({first, i});
    if (second != first && *rc::gen::inRange(0, 4) == 0) edges.push_back({second, i});
  }
  return edges;
}

RC_GTEST_PROP(LayeredLayout, EveryEdgeLeadsToTheRightOneLayerAtATime, ()) {
  std::size_t const vertices = *rc::gen::inRange<std::size_t>(1, 40);
  std::vector<LayoutEdge> const edges = random_derivations(vertices);
  Layout const layout = layered_layout(vertices, edges);
  RC_ASSERT(layout.edges.size() == edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    auto const& points = layout.edges[i];
    RC_ASSERT(points.front().x == layout.vertices[edges[i].from].x && points.front().y == layout.vertices[edges[i].from].y);
    RC_ASSERT(points.back().x == layout.vertices[edges[i].to].x && points.back().y == layout.vertices[edges[i].to].y);
    for (std::size_t j = 1; j < points.size(); ++j) RC_ASSERT(points[j].x == points[j - 1].x + 1);
  }
}

RC_GTEST_PROP(LayeredLayout, NoTwoVerticesTouch, ()) {
  std::size_t const vertices = *rc::gen::inRange<std::size_t>(1, 40);
  Layout const layout = layered_layout(vertices, random_derivations(vertices));
  std::map<double, std::vector<double>> rows_by_layer;
  for (Point const at : layout.vertices) {
    RC_ASSERT(at.y >= -1e-9 && at.y <= layout.rows + 1e-9 && at.x <= layout.layers);
    rows_by_layer[at.x].push_back(at.y);
  }
  for (auto& [layer, rows] : rows_by_layer) {
    std::sort(rows.begin(), rows.end());
    for (std::size_t i = 1; i < rows.size(); ++i) RC_ASSERT(rows[i] - rows[i - 1] >= 1 - 1e-6);
  }
}

TEST(LayeredLayout, ChainIsAStraightLine) {
  Layout const layout = layered_layout(3, {{0, 1}, {1, 2}});
  for (Point const at : layout.vertices) EXPECT_DOUBLE_EQ(at.y, 0);
  EXPECT_DOUBLE_EQ(layout.layers, 2);
}

TEST(LayeredLayout, BranchesThatNeedNotCrossDoNot) {
  // Two chains from one root whose second members are given in the opposite order.
  Layout const layout = layered_layout(5, {{0, 1}, {0, 2}, {2, 3}, {1, 4}});
  bool const first_above = layout.vertices[1].y < layout.vertices[2].y;
  EXPECT_EQ(layout.vertices[4].y < layout.vertices[3].y, first_above);
}

TEST(LayeredLayout, NothingIsDrawnOfNothing) { EXPECT_TRUE(layered_layout(0, {}).vertices.empty()); }

} // namespace
} // namespace tik::report
