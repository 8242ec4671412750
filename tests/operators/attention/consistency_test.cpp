// Bits of the three entry points against each other, over prompts, responses, batches, head ratios, layouts, page sizes and
// cuts.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/operators/attention/calls.h"

namespace tik::attention::testing {
namespace {

struct Case {
  int prompt, response, batch;
  int page_size; // 0: contiguous
  bool cut;
};

struct Slice {
  std::string library;
  Heads heads;
};

// Every slice of the grid holds these cases. Tails are multiples of nothing; prompts lie around tile and page edges.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (int const prompt : {1, 7, 64, 97}) {
    for (int const response : {1, 5, 18}) {
      for (int const batch : {1, 3}) {
        for (int const page_size : {0, 1, 13, 256}) {
          for (bool const cut : {false, true}) all.push_back({prompt, response, batch, page_size, cut});
        }
      }
    }
  }
  return all;
}

std::vector<Heads> grid_heads() { return {{2, 2, 64}, {4, 1, 64}, {7, 1, 128}}; }

// The trajectory of a case first, then its neighbours in the batch, of other lengths.
Trajectories batch_of(Heads heads, Case const& c) {
  Trajectories all{random_trajectory(heads, c.prompt + c.response, 7)};
  for (int b = 1; b < c.batch; ++b) all.push_back(random_trajectory(heads, 3 + 23 * b + c.response, 100 + b));
  return all;
}

std::vector<int> prompts_of(Trajectories const& trajectories, Case const& c) {
  std::vector<int> prompts{c.prompt};
  for (std::size_t b = 1; b < trajectories.size(); ++b) prompts.push_back(trajectories[b].tokens - 2);
  return prompts;
}

std::string describe(Case const& c) {
  return "prompt " + std::to_string(c.prompt) + ", response " + std::to_string(c.response) + ", batch " +
         std::to_string(c.batch) + ", page size " + std::to_string(c.page_size) + (c.cut ? ", cut" : ", whole");
}

// Where a rollout of the case parts from the trajectory computed whole and alone; -1 where it never does.
int first_difference_of(Library const& library, Heads heads, Case const& c) {
  auto const batch = batch_of(heads, c);
  auto const alone = run_full(library, {batch[0]});
  auto const together = run_full(library, batch);
  auto const rollout = run_rollout(library, batch, {prompts_of(batch, c), c.page_size, c.cut, 11});
  for (std::size_t b = 0; b < batch.size(); ++b) {
    int const difference = first_difference(together[b], rollout[b], heads, 0, batch[b].tokens);
    if (difference >= 0) return difference;
  }
  return first_difference(alone[0], together[0], heads, 0, batch[0].tokens);
}

class Consistency : public ::testing::TestWithParam<Slice> {};

TEST_P(Consistency, RolloutGivesTheBitsOfTheWholeTrajectoryAlone) {
  auto const library = load_library(GetParam().library);
  for (auto const& c : cases()) {
    ASSERT_EQ(first_difference_of(library, GetParam().heads, c), -1) << describe(c);
    if (HasFatalFailure()) return;
  }
  std::printf("bitwise cases: %zu\n", cases().size());
}

std::vector<Slice> slices() {
  std::vector<Slice> all;
  for (auto const* library : {"root", "fast", "mixed"}) {
    for (auto const& heads : grid_heads()) all.push_back({library, heads});
  }
  all.push_back({"fast", {16, 1, 64}});
  return all;
}

std::string slice_name(::testing::TestParamInfo<Slice> const& info) {
  auto const& [library, heads] = info.param;
  return library + "_" + std::to_string(heads.query_heads) + "_" + std::to_string(heads.kv_heads) + "_" +
         std::to_string(heads.head_dim);
}

INSTANTIATE_TEST_SUITE_P(Grid, Consistency, ::testing::ValuesIn(slices()), slice_name);

TEST(ConsistencyGrid, HoldsAtLeast500CasesOfTheRoot) {
  std::printf("bitwise cases of the root: %zu\n", cases().size() * grid_heads().size());
  EXPECT_GE(cases().size() * grid_heads().size(), 500u);
}

// A grid that a broken implementation passes would show nothing.
TEST(ConsistencyGrid, FindsTilesOfDecodeAlone) {
  auto const library = load_library("wider_decode");
  EXPECT_GE(first_difference_of(library, {4, 1, 64}, {64, 5, 1, 0, false}), 0);
}

TEST(ConsistencyGrid, FindsAnOrderOfFullAlone) {
  auto const library = load_library("newest_first");
  EXPECT_GE(first_difference_of(library, {4, 1, 64}, {64, 5, 1, 0, false}), 0);
}

} // namespace
} // namespace tik::attention::testing
