// Finds the fastest of several contenders whose times are close while the clock of what runs them moves: heats of rounds in
// which every contender has a turn, in an order of its own each round, and after each heat only those near the fastest go on.
// Host code without a device, so that tests can run it with clocks of their own.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace tik::operators::sm90 {

struct Heat {
  int fewest_rounds;
  int most_rounds;
  double enough_ms; // begins no round beyond the fewest after so long
  float near;       // of the fastest's time: who takes no longer goes on to the next heat
};

// One round shows who is far behind, and a few more do not tell the order of the rest: the clock falls by some 4 % while long
// products run (samples in bench/results/h200/dense.json).
inline constexpr Heat linear_heats[] = {{1, 1, 0, 1.25f}, {3, 5, 40, 1.03f}, {5, 11, 60, 1}};

struct Standing {
  int contender;
  float ms; // in the last heat that it was in
};

inline float median(std::vector<float> values) {
  auto const middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One heat of `contenders`, the fastest first. `time` gives the milliseconds of a contender's turn, `now_ms` what a clock
// shows. What counts is the median of a contender's times beside the others' of the round, so that rounds at another clock
// count the same. The shortest time would prefer algorithms that take a fifth longer in every other round to steady ones.
template <typename Time, typename Now>
std::vector<Standing> run_heat(Heat const& heat, std::vector<int> contenders, std::minstd_rand& random, Time const& time,
                               Now const& now_ms) {
  std::vector<std::vector<float>> ratios(contenders.size());
  std::vector<float> rounds_ms, round_ms(contenders.size());
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), 0);
  double const begin_ms = now_ms();
  for (int round = 0; round < heat.most_rounds; ++round) {
    if (round >= heat.fewest_rounds && now_ms() - begin_ms >= heat.enough_ms) break;
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t const i : order) round_ms[i] = time(contenders[i]);
    rounds_ms.push_back(median(round_ms));
    for (std::size_t i = 0; i < contenders.size(); ++i) ratios[i].push_back(round_ms[i] / rounds_ms.back());
  }
  float const usual_ms = median(rounds_ms);
  std::vector<Standing> standings;
  for (std::size_t i = 0; i < contenders.size(); ++i) standings.push_back({contenders[i], usual_ms * median(ratios[i])});
  std::stable_sort(standings.begin(), standings.end(), [](Standing const& a, Standing const& b) { return a.ms < b.ms; });
  return standings;
}

// All heats of contenders 0 to count - 1: the standings of the last that more than one took part in, or the only contender's.
template <typename Time, typename Now>
std::vector<Standing> run_heats(int count, Time const& time, Now const& now_ms) {
  std::minstd_rand random(1);
  std::vector<int> contenders(count);
  std::iota(contenders.begin(), contenders.end(), 0);
  std::vector<Standing> standings;
  for (Heat const& heat : linear_heats) {
    if (contenders.size() < 2 && !standings.empty()) break;
    standings = run_heat(heat, contenders, random, time, now_ms);
    contenders.clear();
    for (Standing const& standing : standings) {
      if (standing.ms <= heat.near * standings.front().ms) contenders.push_back(standing.contender);
    }
  }
  return standings;
}

} // namespace tik::operators::sm90
