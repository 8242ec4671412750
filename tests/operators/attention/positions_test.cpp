// Bits at every position, over long sequences, and what else a row must not depend on.
#include <gtest/gtest.h>

#include "tests/operators/attention/calls.h"

namespace tik::attention::testing {
namespace {

class Positions : public ::testing::TestWithParam<char const*> {
 protected:
  Library library = load_library(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Libraries, Positions, ::testing::Values("root", "fast", "mixed"),
                         [](auto const& info) { return std::string(info.param); });

TEST_P(Positions, DecodeGivesTheBitsOfFullAtEveryPosition) {
  Heads const heads{6, 2, 64};
  Trajectories const trajectories{random_trajectory(heads, 301, 1)};
  auto const whole = run_full(library, trajectories);
  auto const decoded = run_rollout(library, trajectories, {{0}, 16, false, 3});
  EXPECT_EQ(first_difference(whole[0], decoded[0], heads, 0, 301), -1);
}

TEST_P(Positions, LargeScoresKeepTheBits) {
  Heads const heads{4, 2, 128};
  Trajectories const trajectories{random_trajectory(heads, 150, 2, 40), random_trajectory(heads, 33, 3, 1e-3f)};
  auto const whole = run_full(library, trajectories);
  auto const rollout = run_rollout(library, trajectories, {{70, 1}, 5, true, 4});
  for (int b = 0; b < 2; ++b) EXPECT_EQ(first_difference(whole[b], rollout[b], heads, 0, trajectories[b].tokens), -1);
}

TEST_P(Positions, TheFirst4096TokensOf4224AreThoseOf4096Alone) {
  Heads const heads{1, 1, 64};
  auto const longer = random_trajectory(heads, 4224, 5);
  auto const a = run_full(library, {longer});
  auto const b = run_full(library, {prefix_of(longer, 4096)});
  EXPECT_EQ(first_difference(a[0], b[0], heads, 0, 4096), -1);
}

TEST_P(Positions, ALongPrefixDecodesToTheBitsOfFull) {
  Heads const heads{4, 1, 64};
  Trajectories const trajectories{random_trajectory(heads, 1030, 6)};
  auto const whole = run_full(library, trajectories);
  auto const rollout = run_rollout(library, trajectories, {{1027}, 64, true, 5});
  EXPECT_EQ(first_difference(whole[0], rollout[0], heads, 0, 1030), -1);
}

TEST_P(Positions, AChunkAfterAPrefixIsTheSameAsThePrefixInOne) {
  Heads const heads{4, 2, 128};
  Trajectories const trajectories{random_trajectory(heads, 83, 8)};
  std::vector<Outputs> whole{Outputs(trajectories[0])};
  Cache once(heads, 1, 83, 0, 1);
  run_extend(library, trajectories, {83}, once, whole);
  for (int const cut : {1, 15, 16, 17, 64, 82}) {
    std::vector<Outputs> parts{Outputs(trajectories[0])};
    Cache cache(heads, 1, 83, 7, cut);
    run_extend(library, trajectories, {cut}, cache, parts);
    run_extend(library, trajectories, {83 - cut}, cache, parts);
    EXPECT_EQ(first_difference(whole[0], parts[0], heads, 0, 83), -1) << "cut at " << cut;
  }
}

TEST_P(Positions, RepeatedCallsGiveTheSameBits) {
  Heads const heads{8, 2, 64};
  Trajectories const trajectories{random_trajectory(heads, 90, 9), random_trajectory(heads, 31, 10)};
  auto const first = run_full(library, trajectories);
  auto const second = run_full(library, trajectories);
  for (int b = 0; b < 2; ++b) EXPECT_EQ(first_difference(first[b], second[b], heads, 0, trajectories[b].tokens), -1);
}

// [heads, tokens, head_dim] in place of [tokens, heads, head_dim], with gaps, and no lse.
TEST_P(Positions, StridesAndAMissingLseDoNotShowInTheBits) {
  Heads const heads{4, 2, 64};
  int const tokens = 45;
  auto const trajectory = random_trajectory(heads, tokens, 12);
  auto const expected = run_full(library, {trajectory});
  int64_t const row = heads.head_dim + 8, query_plane = tokens * row + 16, kv_plane = tokens * row;
  std::vector<tik_bf16> queries(heads.query_heads * query_plane, nan_bf16), out(queries.size(), poison_bf16);
  std::vector<tik_bf16> keys(heads.kv_heads * kv_plane, nan_bf16), values = keys;
  auto const spread = [&](std::vector<tik_bf16> const& from, int count, std::vector<tik_bf16>& to, int64_t plane) {
    for (int t = 0; t < tokens; ++t) {
      for (int h = 0; h < count; ++h) {
        std::copy_n(from.begin() + (int64_t(t) * count + h) * heads.head_dim, heads.head_dim, to.begin() + h * plane + t * row);
      }
    }
  };
  spread(trajectory.queries, heads.query_heads, queries, query_plane);
  spread(trajectory.keys, heads.kv_heads, keys, kv_plane);
  spread(trajectory.values, heads.kv_heads, values, kv_plane);
  int32_t const offsets[] = {0, tokens};
  tik_attention_args args{};
  args.struct_bytes = sizeof(args);
  args.batch = 1;
  args.shape = shape_of(heads);
  args.limits = {1, tokens, tokens, tokens};
  args.queries = queries.data();
  args.query_token_stride = row;
  args.query_head_stride = query_plane;
  args.query_offsets = offsets;
  args.kv = {TIK_KV_PACKED, 0, keys.data(), values.data(), 0, 0, row, kv_plane, nullptr, 0, 0};
  args.out = out.data();
  args.out_token_stride = row;
  args.out_head_stride = query_plane;
  ASSERT_EQ(library.full(&args), TIK_OK) << library.last_error();
  for (int h = 0; h < heads.query_heads; ++h) {
    for (int t = 0; t < tokens; ++t) {
      auto const* const got = out.data() + h * query_plane + t * row;
      auto const* const want = expected[0].out.data() + (int64_t(t) * heads.query_heads + h) * heads.head_dim;
      ASSERT_TRUE(std::equal(got, got + heads.head_dim, want)) << "head " << h << ", token " << t;
      ASSERT_TRUE(std::all_of(got + heads.head_dim, got + row, [](auto x) { return x == poison_bf16; }));
    }
  }
}

} // namespace
} // namespace tik::attention::testing
