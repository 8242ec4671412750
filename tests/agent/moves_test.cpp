// The moves of the built-in agent on the real manifest and sources of the CPU attention, and on texts that resist.
#include "src/agent/moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files.h"

namespace tik::agent {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Move rewrite(char const* name) { return {Move::Kind::rewrite, name, ""}; }
Move tunable(char const* name, char const* value) { return {Move::Kind::tunable, name, value}; }

class CpuMoves : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::path const folder = std::filesystem::path(TIK_SOURCE_DIR) / "operators/attention/cpu";
    manifest_ = *spec::load_manifest(folder);
    for (auto const* files : {&manifest_.full_files, &manifest_.decode_files, &manifest_.shared_files})
      for (std::string const& file : *files) tree_[file] = *read_file(folder / file);
    root_ = configuration_of(tree_, manifest_, {});
  }
  std::vector<Move> available(Tree const& tree, std::set<std::string> rewrites) const {
    return available_moves(tree, manifest_, configuration_of(tree, manifest_, std::move(rewrites)), root_);
  }
  spec::Manifest manifest_;
  Tree tree_;
  Configuration root_;
};

TEST_F(CpuMoves, TunableIsSetWhereItsLineStands) {
  auto const edited = apply(tree_, manifest_, tunable("dot_lanes", "8"));
  ASSERT_TRUE(edited);
  EXPECT_EQ(values_of(*edited, manifest_).at("dot_lanes"), "8");
  int changed = 0;
  for (auto const& [file, content] : tree_) changed += edited->at(file) != content;
  EXPECT_EQ(changed, 1);
}

TEST_F(CpuMoves, MoveThatChangesNothingOrFindsNothingDoesNotApply) {
  EXPECT_FALSE(apply(tree_, manifest_, tunable("dot_lanes", "1")));
  EXPECT_FALSE(apply(tree_, manifest_, rewrite("no-such-rewrite")));
  auto const once = apply(tree_, manifest_, rewrite("optimize-more"));
  ASSERT_TRUE(once);
  EXPECT_FALSE(apply(*once, manifest_, rewrite("optimize-more")));
}

TEST_F(CpuMoves, TextThatOccursTwiceIsNotEdited) {
  Tree doubled = tree_;
  doubled.at("numerics.h") += doubled.at("numerics.h");
  EXPECT_FALSE(apply(doubled, manifest_, tunable("dot_lanes", "8")));
}

TEST_F(CpuMoves, EveryOtherValueOfATunableIsAvailable) {
  std::vector<Move> const moves = available(tree_, {});
  EXPECT_THAT(moves, Contains(tunable("tile_keys", "8")));
  EXPECT_THAT(moves, Contains(tunable("tile_keys", "64")));
  EXPECT_THAT(moves, Not(Contains(tunable("tile_keys", "16")))) << "that is the root's own value";
  EXPECT_EQ(domain_steps(manifest_, root_, tunable("tile_keys", "32")), 1);
  EXPECT_EQ(domain_steps(manifest_, root_, tunable("tile_keys", "128")), 3);
  EXPECT_EQ(domain_steps(manifest_, root_, rewrite("values-by-row")), 1);
}

TEST_F(CpuMoves, RewriteWaitsForWhatItRequires) {
  EXPECT_THAT(available(tree_, {}), Not(Contains(rewrite("explicit-vectors"))));
  auto const by_row = apply(tree_, manifest_, rewrite("values-by-row"));
  ASSERT_TRUE(by_row);
  EXPECT_THAT(available(*by_row, {"values-by-row"}), Not(Contains(rewrite("explicit-vectors"))));
  auto const lanes = apply(*by_row, manifest_, tunable("dot_lanes", "8"));
  ASSERT_TRUE(lanes);
  EXPECT_THAT(available(*lanes, {"values-by-row"}), Contains(rewrite("explicit-vectors")));
  EXPECT_THAT(available(*lanes, {"values-by-row"}), Not(Contains(rewrite("values-by-row"))));
}

TEST_F(CpuMoves, AllAreAppliedInAnOrderThatTheirTextsAllow) {
  std::vector<Move> const moves = {rewrite("pack-tile"), rewrite("explicit-vectors"), rewrite("values-by-row"),
                                   tunable("dot_lanes", "16")};
  auto const edited = apply_all(tree_, manifest_, moves);
  ASSERT_TRUE(edited);
  EXPECT_EQ(values_of(*edited, manifest_).at("dot_lanes"), "16");
  EXPECT_NE(edited->at("tile.h"), tree_.at("tile.h"));
  EXPECT_FALSE(apply_all(tree_, manifest_, {rewrite("explicit-vectors")}));
}

TEST_F(CpuMoves, MissingMovesAreWhatOneHasAndTheOtherLeftAsInTheRoot) {
  Configuration one = root_, other = root_;
  one.rewrites = {"values-by-row"};
  one.values["dot_lanes"] = "8";
  other.rewrites = {"values-by-row", "optimize-more"};
  other.values["dot_lanes"] = "16";
  other.values["tile_keys"] = "32";
  EXPECT_EQ(missing_moves(one, other, root_), (std::vector{rewrite("optimize-more"), tunable("tile_keys", "32")}));
  EXPECT_TRUE(missing_moves(one, root_, root_).empty());
}

TEST_F(CpuMoves, OneSidedNumericalChangesAreKnownAsSuch) {
  EXPECT_TRUE(declaration_of(manifest_, rewrite("decode-wider-tile")).parts_the_entry_points());
  EXPECT_TRUE(declaration_of(manifest_, rewrite("full-newest-first")).parts_the_entry_points());
  EXPECT_FALSE(declaration_of(manifest_, rewrite("group-heads")).parts_the_entry_points());
  EXPECT_FALSE(declaration_of(manifest_, tunable("dot_lanes", "8")).parts_the_entry_points());
}

TEST(Notes, ReadBackWhatWasWrittenAndNothingOfOthers) {
  std::vector<Move> const moves = {rewrite("values-by-row"), tunable("dot_lanes", "8")};
  EXPECT_EQ(from_notes(to_notes(moves)), moves);
  EXPECT_TRUE(from_notes(ir::Json::object()).empty());
  EXPECT_TRUE(from_notes(ir::Json::parse(R"({"moves": "all"})")).empty());
  EXPECT_TRUE(from_notes(ir::Json::parse(R"({"moves": [1, {"rewrite": 2}, null]})")).empty());
  EXPECT_TRUE(from_notes(ir::Json::array()).empty());
}

} // namespace
} // namespace tik::agent
