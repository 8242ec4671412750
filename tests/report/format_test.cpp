// Figures, words and tables.
#include "src/report/format.h"

#include <gtest/gtest.h>

#include "src/report/axis.h"
#include "src/report/plots.h"
#include "src/report/svg.h"

namespace tik::report {
namespace {

TEST(Format, LatencyHasThreeDigitsAndTheShortestUnit) {
  EXPECT_EQ(latency(0.5), "0.50 us");
  EXPECT_EQ(latency(9.996), "10.0 us");
  EXPECT_EQ(latency(84.24), "84.2 us");
  EXPECT_EQ(latency(999.4), "999 us");
  EXPECT_EQ(latency(999.6), "1.00 ms");
  EXPECT_EQ(latency(2.1e6), "2.10 s");
}

TEST(Format, OneLineCutsCharactersNotBytes) {
  EXPECT_EQ(one_line("a\n  b\tc ", 0), "a b c");
  EXPECT_EQ(one_line("äöüß", 4), "äöüß");
  EXPECT_EQ(one_line("äöüßä", 4), "äöü…");
  EXPECT_EQ(one_line("", 3), "");
}

TEST(Format, WrapBreaksAtSpacesAndIndents) { EXPECT_EQ(wrap("one two three", 7, 2), "one two\n  three"); }

TEST(Format, MarkdownCellsCannotBreakTheTable) {
  EXPECT_EQ(markdown_table({{"a", "b"}, {"x|y", "<b>*z*\nw"}}, "lr"),
            "| a | b |\n| --- | ---: |\n| x\\|y | \\<b\\>\\*z\\* w |\n");
}

TEST(Format, TextTableAlignsByCharacters) { EXPECT_EQ(text_table({{"ä", "b"}, {"cc", "dd"}}, "lr"), "ä    b\ncc  dd\n"); }

TEST(Axis, LinearTicksAreRoundAndCoverTheLargest) {
  EXPECT_EQ(linear_ticks(4.4, 5), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(linear_ticks(0.9, 4).back(), 1.0);
}

TEST(Axis, LogarithmicTicksLieWithinTheRange) {
  EXPECT_EQ(logarithmic_ticks(80, 20000), (std::vector<double>{100, 300, 1000, 3000, 10000}));
  for (double const tick : logarithmic_ticks(80, 400)) EXPECT_TRUE(tick >= 80 && tick <= 400) << tick;
}

TEST(Svg, TextCannotBecomeMarkup) {
  Attempt attempt;
  attempt.id = {0};
  attempt.mechanism = "a < b & \"c\" > d \x01";
  attempt.verdict = Verdict::promoted;
  std::string const svg = plot_lineage("x<y>", {attempt});
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot; &gt; d ."), std::string::npos);
  EXPECT_EQ(svg.find("x<y>"), std::string::npos);
}

TEST(Plots, LongHistoryIsThinnedAndSaysSo) {
  std::vector<Attempt> attempts(1000);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    attempts[i].id = {static_cast<std::int64_t>(i)};
    if (i > 0) attempts[i].parents = {{static_cast<std::int64_t>(i / 2)}};
    attempts[i].verdict = Verdict::verified;
    attempts[i].on_best_path = i < 4;
  }
  std::string const svg = plot_lineage("long", attempts);
  EXPECT_NE(svg.find("220 of 1000 implementations are drawn"), std::string::npos);
  EXPECT_NE(svg.find(">I3<"), std::string::npos) << "the best path is always drawn";
  EXPECT_NE(svg.find(">I999<"), std::string::npos) << "and so is the newest";
}

} // namespace
} // namespace tik::report
