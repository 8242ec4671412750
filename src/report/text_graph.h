// The lineage as lines of text, newest first, in the manner of `git log --graph`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/ir/records.h"

namespace tik::report {

// A vertex to draw. Vertices come newest first, so every parent comes after all of its offspring.
struct GraphVertex {
  ir::ImplementationId id;
  std::vector<ir::ImplementationId> parents;
  std::string mark; // one character: how the vertex is shown
};

struct GraphLine {
  std::string graph;                      // the drawing, without trailing spaces
  std::optional<ir::ImplementationId> id; // the vertex on this line; absent on lines that only connect
};

struct GraphStyle {
  bool unicode = true; // box-drawing characters; otherwise ASCII
};

// One line a vertex and one line wherever branches meet or part. A parent that is not among the vertices keeps its line to the
// end.
std::vector<GraphLine> draw_graph(std::vector<GraphVertex> const& vertices, GraphStyle style);

} // namespace tik::report
