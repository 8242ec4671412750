// Choosing the fastest of several contenders on a clock that moves.
#include "operators/linear/sm90/heats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tik::operators::sm90 {
namespace {

// A chip on which contenders take `ms` at the highest clock. The clock falls while it works, and a turn now and then is
// disturbed.
class Chip {
 public:
  explicit Chip(std::vector<float> ms) : ms_(std::move(ms)) {}

  std::vector<Standing> standings() {
    return run_heats(
        static_cast<int>(ms_.size()), [&](int contender) { return turn(contender); }, [&] { return now_ms_; });
  }
  double now_ms() const { return now_ms_; }
  int turns(int contender) { return turns_[contender]; }

 private:
  float turn(int contender) {
    float const clock = 1 - 0.06f * static_cast<float>(std::min(1.0, now_ms_ / 30)); // relative to the highest
    ++turns_[contender];
    float const disturbed = ++turn_ % 29 == 0 ? 1.08f : 1;
    float const took = ms_[contender] / clock * disturbed;
    now_ms_ += took + 0.1;
    return took;
  }

  std::vector<float> ms_;
  std::map<int, int> turns_;
  double now_ms_ = 0;
  int turn_ = 0;
};

TEST(Heats, TheFastestWinsWhileTheClockFalls) {
  for (float const ms : {0.02f, 0.7f, 2.0f}) {
    for (int fastest = 0; fastest < 12; ++fastest) {
      std::vector<float> times(12, ms);
      for (int i = 0; i < 12; ++i) times[i] *= 1.015f + 0.005f * static_cast<float>(i);
      times[fastest] = ms;
      Chip chip(times);
      EXPECT_EQ(chip.standings().front().contender, fastest) << ms << " ms";
    }
  }
}

TEST(Heats, WhoIsFarBehindHasOneTurn) {
  Chip chip({1, 2, 1.01f, 1.5f});
  auto const standings = chip.standings();
  ASSERT_EQ(standings.size(), 2u);
  EXPECT_EQ(standings[0].contender, 0);
  EXPECT_EQ(standings[1].contender, 2);
  EXPECT_EQ(chip.turns(1), 1);
  EXPECT_EQ(chip.turns(3), 1);
  EXPECT_GE(chip.turns(0), 1 + linear_heats[1].fewest_rounds + linear_heats[2].fewest_rounds);
}

TEST(Heats, TheLastHeatIsForThoseWithinThreePercent) {
  Chip chip({1, 1.1f, 1.01f});
  EXPECT_EQ(chip.standings().size(), 2u);
  EXPECT_LT(chip.turns(1), chip.turns(2));
}

TEST(Heats, AnUnsteadyContenderIsJudgedByItsMedian) {
  int turn = 0;
  auto const standings = run_heats(
      2, [&](int contender) { return contender == 0 ? (++turn % 3 == 0 ? 0.9f : 1.2f) : 1.1f; }, [] { return 0.0; });
  EXPECT_EQ(standings.front().contender, 1);
}

TEST(Heats, WhoFollowsAHotContenderIsNotBlamed) {
  for (int hot = 0; hot < 5; ++hot) {
    int before = hot;
    auto const time = [&](int contender) {
      float const took = std::vector<float>{1.02f, 1, 1.015f, 1.025f, 1.028f}[contender] * (before == hot ? 1.05f : 1);
      before = contender;
      return took;
    };
    EXPECT_EQ(run_heats(5, time, [] { return 0.0; }).front().contender, 1) << hot;
  }
}

TEST(Heats, TimeIsBoundedButForTheFewestRounds) {
  constexpr float ms = 1;
  constexpr int count = 16;
  Chip chip(std::vector<float>(count, ms));
  chip.standings();
  double const longest_round = count * (ms * 1.08 / 0.94 + 0.1);
  EXPECT_LE(chip.now_ms(),
            longest_round + std::max(40.0, 2 * longest_round) + longest_round + std::max(60.0, 5 * longest_round));
}

TEST(Heats, AnOnlyContenderWins) {
  Chip chip({3});
  auto const standings = chip.standings();
  ASSERT_EQ(standings.size(), 1u);
  EXPECT_EQ(standings[0].contender, 0);
  EXPECT_EQ(chip.turns(0), 1);
}

} // namespace
} // namespace tik::operators::sm90
