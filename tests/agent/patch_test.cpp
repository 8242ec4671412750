// Edits apply exactly or are refused with the place and the reason.
#include "src/agent/patch.h"

#include <gmock/gmock.h>

namespace tik::agent::test {
namespace {

using testing::HasSubstr;

Contents const tree = {
    {"a.cpp", "one\ntwo\nthree\nfour\nfive\nsix\n"}, {"twice.h", "x\ny\nz\nx\ny\nz\n"}, {"open.txt", "no end"}};

std::string patched(std::string const& patch, std::string const& file = "a.cpp") {
  auto const changes = apply_patch(tree, patch);
  if (!changes) return "refused: " + changes.error().message;
  return changes->at(file).value_or("removed");
}

TEST(Patch, AppliesAHunkWhereItsLinesStand) {
  EXPECT_EQ(patched("--- a/a.cpp\n+++ b/a.cpp\n@@ -2,3 +2,3 @@\n two\n-three\n+THREE\n four\n"),
            "one\ntwo\nTHREE\nfour\nfive\nsix\n");
}

TEST(Patch, FindsTheOnlyPlaceWhenLineNumbersAndCountsAreWrong) {
  EXPECT_EQ(patched("--- a.cpp\n+++ a.cpp\n@@ -40,9 +41,1 @@\n four\n-five\n"), "one\ntwo\nthree\nfour\nsix\n");
  EXPECT_EQ(patched("--- a.cpp\n+++ a.cpp\n@@ @@\n four\n-five\n"), "one\ntwo\nthree\nfour\nsix\n");
}

TEST(Patch, RefusesAHunkThatFitsInTwoPlaces) {
  EXPECT_THAT(patched("--- a/twice.h\n+++ b/twice.h\n@@ -9 +9 @@\n-y\n+Y\n", "twice.h"),
              HasSubstr("stand in 2 places (lines 2, 5)"));
  EXPECT_EQ(patched("--- a/twice.h\n+++ b/twice.h\n@@ -5 +5 @@\n-y\n+Y\n", "twice.h"), "x\ny\nz\nx\nY\nz\n");
}

TEST(Patch, SaysWhichLineDiffers) {
  EXPECT_THAT(
      patched("--- a/a.cpp\n+++ b/a.cpp\n@@ -1,2 +1,2 @@\n one\n-2\n+zwei\n"),
      HasSubstr("a.cpp: the hunk at line 3 of the diff does not apply: it expects \"2\" at line 2, and there is \"two\""));
}

TEST(Patch, AddsRemovesAndRenamesFiles) {
  EXPECT_EQ(patched("--- /dev/null\n+++ b/new.h\n@@ -0,0 +1,2 @@\n+first\n+second\n", "new.h"), "first\nsecond\n");
  EXPECT_EQ(patched("--- a/open.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-no end\n\\ No newline at end of file\n", "open.txt"),
            "removed");
  EXPECT_THAT(patched("--- /dev/null\n+++ b/a.cpp\n@@ -0,0 +1 @@\n+x\n"), HasSubstr("it is there already"));
  EXPECT_THAT(patched("--- a/none.cpp\n+++ b/none.cpp\n@@ -1 +1 @@\n-x\n+y\n"), HasSubstr("there is no such file"));
}

TEST(Patch, KeepsALastLineThatHasNoEnd) {
  EXPECT_EQ(
      patched("--- a/open.txt\n+++ b/open.txt\n@@ -1 +1,2 @@\n+before\n no end\n\\ No newline at end of file\n", "open.txt"),
      "before\nno end");
}

TEST(Patch, AppliesEveryHunkOfEveryFileOrNone) {
  std::string const good =
      "--- a/a.cpp\n+++ b/a.cpp\n@@ -1 +1,2 @@\n one\n+one and a half\n@@ -5,2 +6,2 @@\n five\n-six\n+SIX\n";
  EXPECT_EQ(patched(good), "one\none and a half\ntwo\nthree\nfour\nfive\nSIX\n");
  EXPECT_THAT(patched(good + "--- a/twice.h\n+++ b/twice.h\n@@ -1 +1 @@\n-q\n+r\n"), HasSubstr("twice.h"));
}

TEST(Patch, RefusesWhatIsNoDiff) {
  EXPECT_THAT(patched("please change line two"), HasSubstr("it names no file"));
  EXPECT_THAT(patched("--- a/a.cpp\n+++ b/a.cpp\n"), HasSubstr("no hunk"));
  EXPECT_THAT(patched("--- a/a.cpp\n+++ b/a.cpp\n@@ -1 +1 @@\n one\n*two\n"), HasSubstr("line 5: it starts with '*two'"));
}

TEST(ReplaceOnce, RefusesATextThatIsMissingOrThereTwice) {
  EXPECT_EQ(*replace_once("f", "a b c", "b", "B"), "a B c");
  EXPECT_THAT(replace_once("f", "a b b", "b", "B").error().message, HasSubstr("more than once"));
  EXPECT_THAT(replace_once("f", "x\na\nb\n", "a\nc", "B").error().message,
              HasSubstr("its first line stands at line 2, but what follows differs"));
  EXPECT_FALSE(replace_once("f", "a", "", "B"));
}

} // namespace
} // namespace tik::agent::test
