// The lineage as text.
#include "src/report/text_graph.h"

#include <gtest/gtest.h>

namespace tik::report {
namespace {

GraphVertex vertex(int id, std::vector<int> parents) {
  GraphVertex result{{id}, {}, "*"};
  for (int const parent : parents) result.parents.push_back({parent});
  return result;
}

std::string draw(std::vector<GraphVertex> const& vertices, bool unicode = false) {
  std::string text;
  for (GraphLine const& line : draw_graph(vertices, {unicode}))
    text += line.graph + (line.id ? " " + to_string(*line.id) : std::string()) + '\n';
  return text;
}

TEST(TextGraph, ChainIsOneColumn) { EXPECT_EQ(draw({vertex(2, {1}), vertex(1, {0}), vertex(0, {})}), "* I2\n* I1\n* I0\n"); }

TEST(TextGraph, BranchesJoinAtTheirParent) {
  EXPECT_EQ(draw({vertex(2, {0}), vertex(1, {0}), vertex(0, {})}),
            "* I2\n"
            "| * I1\n"
            "+-'\n"
            "* I0\n");
}

TEST(TextGraph, MergeHasALineToEachParent) {
  EXPECT_EQ(draw({vertex(3, {1, 2}), vertex(2, {0}), vertex(1, {0}), vertex(0, {})}, true),
            "* I3\n"
            "├─╮\n"
            "│ * I2\n"
            "* │ I1\n"
            "╰─┤\n"
            "  * I0\n");
}

TEST(TextGraph, ColumnOfAFinishedBranchIsUsedAgain) {
  EXPECT_EQ(draw({vertex(4, {0}), vertex(3, {0}), vertex(2, {0}), vertex(1, {0}), vertex(0, {})}),
            "* I4\n"
            "| * I3\n"
            "+-'\n"
            "| * I2\n"
            "+-'\n"
            "| * I1\n"
            "+-'\n"
            "* I0\n");
}

TEST(TextGraph, LineToAParentBeyondTheLimitStaysOpen) { EXPECT_EQ(draw({vertex(9, {3}), vertex(8, {7})}), "* I9\n| * I8\n"); }

} // namespace
} // namespace tik::report
