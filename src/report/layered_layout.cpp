#include "src/report/layered_layout.h"

#include <algorithm>
#include <numeric>

namespace tik::report {
namespace {

// The graph with every edge cut into pieces of one layer by waypoints, which are vertices without a picture.
struct Layered {
  std::vector<std::size_t> layer_of;
  std::vector<std::vector<std::size_t>> before, after; // neighbours in the previous and next layer
  std::vector<std::vector<std::size_t>> layers;        // vertices by layer, in drawing order
  std::vector<std::vector<std::size_t>> chains;        // per edge: its vertices and waypoints in order
};

std::size_t add_vertex(Layered& graph, std::size_t layer) {
  graph.layer_of.push_back(layer);
  graph.before.emplace_back();
  graph.after.emplace_back();
  if (graph.layers.size() <= layer) graph.layers.resize(layer + 1);
  graph.layers[layer].push_back(graph.layer_of.size() - 1);
  return graph.layer_of.size() - 1;
}

Layered build(std::size_t vertices, std::vector<LayoutEdge> const& edges) {
  std::vector<std::size_t> depth(vertices, 0);
  std::vector<LayoutEdge> ordered = edges;
  std::stable_sort(ordered.begin(), ordered.end(), [](LayoutEdge const& a, LayoutEdge const& b) { return a.to < b.to; });
  for (LayoutEdge const& edge : ordered) depth[edge.to] = std::max(depth[edge.to], depth[edge.from] + 1);

  Layered graph;
  for (std::size_t i = 0; i < vertices; ++i) add_vertex(graph, depth[i]);
  for (LayoutEdge const& edge : edges) {
    std::vector<std::size_t> chain = {edge.from};
    for (std::size_t layer = depth[edge.from] + 1; layer < depth[edge.to]; ++layer) chain.push_back(add_vertex(graph, layer));
    chain.push_back(edge.to);
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      graph.after[chain[i]].push_back(chain[i + 1]);
      graph.before[chain[i + 1]].push_back(chain[i]);
    }
    graph.chains.push_back(std::move(chain));
  }
  return graph;
}

std::vector<double> positions_in_layer(Layered const& graph, std::size_t layer) {
  std::vector<double> position(graph.layer_of.size(), 0);
  for (std::size_t i = 0; i < graph.layers[layer].size(); ++i) position[graph.layers[layer][i]] = static_cast<double>(i);
  return position;
}

double mean(std::vector<std::size_t> const& neighbours, std::vector<double> const& position, double otherwise) {
  if (neighbours.empty()) return otherwise;
  double sum = 0;
  for (std::size_t const neighbour : neighbours) sum += position[neighbour];
  return sum / static_cast<double>(neighbours.size());
}

void order_by(Layered& graph, std::size_t layer, std::size_t reference,
              std::vector<std::vector<std::size_t>> const& neighbours) {
  std::vector<double> const position = positions_in_layer(graph, reference);
  std::vector<double> const own = positions_in_layer(graph, layer);
  std::vector<double> wish(graph.layer_of.size(), 0);
  for (std::size_t const vertex : graph.layers[layer]) wish[vertex] = mean(neighbours[vertex], position, own[vertex]);
  std::stable_sort(graph.layers[layer].begin(), graph.layers[layer].end(),
                   [&](std::size_t a, std::size_t b) { return wish[a] < wish[b]; });
}

std::size_t crossings(Layered const& graph) {
  std::size_t total = 0;
  for (std::size_t layer = 0; layer + 1 < graph.layers.size(); ++layer) {
    std::vector<double> const position = positions_in_layer(graph, layer + 1);
    std::vector<double> ends; // of the edges, in order of their beginnings
    for (std::size_t const vertex : graph.layers[layer]) {
      std::vector<double> own;
      for (std::size_t const next : graph.after[vertex]) own.push_back(position[next]);
      for (double const end : own)
        for (double const earlier : ends) total += earlier > end ? 1 : 0;
      ends.insert(ends.end(), own.begin(), own.end());
    }
  }
  return total;
}

void reduce_crossings(Layered& graph) {
  auto best = graph.layers;
  std::size_t fewest = crossings(graph);
  for (int sweep = 0; sweep < 12 && fewest > 0; ++sweep) {
    if (sweep % 2 == 0)
      for (std::size_t layer = 1; layer < graph.layers.size(); ++layer) order_by(graph, layer, layer - 1, graph.before);
    else
      for (std::size_t layer = graph.layers.size() - 1; layer-- > 0;) order_by(graph, layer, layer + 1, graph.after);
    if (std::size_t const now = crossings(graph); now < fewest) {
      fewest = now;
      best = graph.layers;
    }
  }
  graph.layers = std::move(best);
}

// Places a layer as near to the wishes as the order and the distance of 1 allow: overlapping vertices form a block around their
// mean.
void place(std::vector<std::size_t> const& layer, std::vector<double> const& wish, std::vector<double>& row) {
  struct Block {
    double sum = 0; // of wish minus offset within the block
    std::size_t first = 0, count = 0;
    double start() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    blocks.push_back({wish[layer[i]], i, 1});
    while (blocks.size() > 1) {
      Block const& last = blocks.back();
      Block& previous = blocks[blocks.size() - 2];
      if (previous.start() + static_cast<double>(previous.count) <= last.start()) break;
      previous.sum += last.sum - static_cast<double>(last.count * previous.count);
      previous.count += last.count;
      blocks.pop_back();
    }
  }
  for (Block const& block : blocks)
    for (std::size_t i = 0; i < block.count; ++i) row[layer[block.first + i]] = block.start() + static_cast<double>(i);
}

std::vector<double> assign_rows(Layered const& graph) {
  std::vector<double> row(graph.layer_of.size(), 0);
  for (auto const& layer : graph.layers)
    for (std::size_t i = 0; i < layer.size(); ++i)
      row[layer[i]] = static_cast<double>(i) - static_cast<double>(layer.size()) / 2;
  for (int sweep = 0; sweep < 24; ++sweep) {
    auto const pull = [&](std::size_t layer, auto const& neighbours) {
      std::vector<double> wish = row;
      for (std::size_t const vertex : graph.layers[layer]) wish[vertex] = mean(neighbours[vertex], row, row[vertex]);
      place(graph.layers[layer], wish, row);
    };
    if (sweep % 2 == 0)
      for (std::size_t layer = graph.layers.size(); layer-- > 0;) pull(layer, graph.after);
    else
      for (std::size_t layer = 0; layer < graph.layers.size(); ++layer) pull(layer, graph.before);
  }
  return row;
}

} // namespace

Layout layered_layout(std::size_t vertices, std::vector<LayoutEdge> const& edges) {
  Layout layout;
  if (vertices == 0) return layout;
  Layered graph = build(vertices, edges);
  reduce_crossings(graph);
  std::vector<double> const row = assign_rows(graph);
  double const top = *std::min_element(row.begin(), row.end());
  auto const point = [&](std::size_t vertex) { return Point{static_cast<double>(graph.layer_of[vertex]), row[vertex] - top}; };
  for (std::size_t i = 0; i < vertices; ++i) layout.vertices.push_back(point(i));
  for (auto const& chain : graph.chains) {
    layout.edges.emplace_back();
    for (std::size_t const vertex : chain) layout.edges.back().push_back(point(vertex));
  }
  layout.layers = static_cast<double>(graph.layers.size() - 1);
  layout.rows = *std::max_element(row.begin(), row.end()) - top;
  return layout;
}

} // namespace tik::report
