// The table of RoPE and its reference: what YaRN does to which frequency, and that the inverse is the gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "operators/functions.h"
#include "operators/rotary/reference.h"
#include "operators/rotary/table.h"
#include "tests/operators/differences.h"

namespace tik::operators::rotary {
namespace {

tik_rotary_table_args unscaled(int head_dim) {
  tik_rotary_table_args args{};
  args.struct_bytes = sizeof args;
  args.positions = 64;
  args.head_dim = head_dim;
  args.base = 1e6;
  return args;
}

// As in the configuration that Qwen publishes for contexts of 131,072 tokens.
tik_rotary_table_args yarn(int head_dim) {
  tik_rotary_table_args args = unscaled(head_dim);
  args.scaling = TIK_ROTARY_YARN;
  args.factor = 4;
  args.original_positions = 32768;
  args.beta_fast = 32;
  args.beta_slow = 1;
  return args;
}

TEST(RotaryTable, LinesAreCosinesThenSines) {
  tik_rotary_table_args args = unscaled(64);
  std::vector<float> table(64 * 64);
  args.table = table.data();
  ASSERT_EQ(cpu::rotary_table(&args), TIK_OK);
  EXPECT_EQ(table[0], 1.0f);
  EXPECT_EQ(table[32], 0.0f);
  EXPECT_EQ(table[5 * 64], static_cast<float>(std::cos(5.0)));
  EXPECT_EQ(table[5 * 64 + 32], static_cast<float>(std::sin(5.0)));
  EXPECT_EQ(table[63 * 64 + 32 + 31], static_cast<float>(std::sin(63 * std::pow(1e6, -62.0 / 64))));
}

TEST(RotaryTable, YarnKeepsFastPairsAndDividesSlowOnes) {
  for (int const head_dim : {64, 128}) {
    tik_rotary_table_args const scaled = yarn(head_dim), plain = unscaled(head_dim);
    for (int pair = 0; pair < head_dim / 2; ++pair) {
      double const turns = scaled.original_positions * frequency(plain, pair) / (2 * std::numbers::pi);
      double const ratio = frequency(scaled, pair) / frequency(plain, pair);
      EXPECT_LE(ratio, 1);
      EXPECT_GE(ratio, 1 / scaled.factor - 1e-15);
      if (turns > scaled.beta_fast * 1.6) {
        EXPECT_EQ(ratio, 1) << pair;
      }
      if (turns < scaled.beta_slow / 1.6) {
        EXPECT_NEAR(ratio, 1 / scaled.factor, 1e-15) << pair;
      }
      if (pair > 0) {
        EXPECT_LE(ratio, frequency(scaled, pair - 1) / frequency(plain, pair - 1) + 1e-15) << pair;
      }
    }
    EXPECT_DOUBLE_EQ(magnitude(scaled), 0.1 * std::log(4.0) + 1);
    EXPECT_EQ(magnitude(plain), 1);
  }
}

// Between the two ends the ramp is linear in the pair: with these numbers from pair 23 to pair 40 of 64.
TEST(RotaryTable, YarnMixesOnALinearRamp) {
  tik_rotary_table_args const scaled = yarn(128), plain = unscaled(128);
  auto const part = [&](int pair) { return (1 - frequency(scaled, pair) / frequency(plain, pair)) / (1 - 1 / scaled.factor); };
  EXPECT_NEAR(part(23), 0, 1e-12);
  EXPECT_NEAR(part(24), 1.0 / 17, 1e-12);
  EXPECT_NEAR(part(30), 7.0 / 17, 1e-12);
  EXPECT_NEAR(part(40), 1, 1e-12);
}

TEST(RotaryReference, TheInverseIsTheGradient) {
  for (tik_rotary_table_args const& table : {unscaled(64), yarn(128)}) {
    std::vector<double> x = random_numbers(table.head_dim, 1);
    std::vector<double> const out_gradient = random_numbers(table.head_dim, 2);
    auto const loss = [&] { return dot(out_gradient, reference(x, 12345, table, false)); };
    expect_gradient(x, reference(out_gradient, 12345, table, true), loss);
  }
}

} // namespace
} // namespace tik::operators::rotary
