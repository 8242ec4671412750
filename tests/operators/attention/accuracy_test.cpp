// The libraries against the float64 reference, and the reference against sums that a person can follow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "operators/attention/reference.h"
#include "tests/operators/attention/calls.h"

namespace tik::attention::testing {
namespace {

// A full call over one trajectory, for the reference.
struct FullRequest {
  explicit FullRequest(Trajectory const& trajectory) {
    offsets[1] = trajectory.tokens;
    args.struct_bytes = sizeof(args);
    args.batch = 1;
    args.shape = shape_of(trajectory.heads);
    args.queries = trajectory.queries.data();
    args.query_token_stride = trajectory.query_width();
    args.query_head_stride = trajectory.heads.head_dim;
    args.query_offsets = offsets;
    args.kv.layout = TIK_KV_PACKED;
    args.kv.keys = trajectory.keys.data();
    args.kv.values = trajectory.values.data();
    args.kv.token_stride = trajectory.kv_width();
    args.kv.head_stride = trajectory.heads.head_dim;
  }
  int32_t offsets[2] = {0, 0};
  tik_attention_args args{};
};

Reference reference_of(Trajectory const& trajectory) {
  FullRequest const request(trajectory);
  Reference reference;
  EXPECT_FALSE(compute_reference(Entry::full, request.args, reference));
  return reference;
}

struct Errors {
  double out = 0, lse = 0; // out relative to the largest value of the inputs
};

Errors errors_of(Outputs const& outputs, Trajectory const& trajectory) {
  auto const reference = reference_of(trajectory);
  double largest = 0;
  for (auto const value : trajectory.values) largest = std::max(largest, std::abs(double{float_of(value)}));
  Errors errors;
  for (std::size_t i = 0; i < outputs.out.size(); ++i) {
    double const error = std::abs(float_of(outputs.out[i]) - reference.out[i]) / largest;
    errors.out = std::max(errors.out, std::isnan(error) ? HUGE_VAL : error);
  }
  for (std::size_t i = 0; i < outputs.lse.size(); ++i) {
    double const error = std::abs(outputs.lse[i] - reference.lse[i]);
    errors.lse = std::max(errors.lse, std::isnan(error) ? HUGE_VAL : error);
  }
  return errors;
}

// Half a step of a bf16 output as large as the largest value, and a little for the fp32 sums before it.
constexpr double out_limit = 0x1p-8 * 1.05;

class Accuracy : public ::testing::TestWithParam<char const*> {
 protected:
  void expect_accurate(Trajectory const& trajectory, double lse_limit) {
    auto const errors = errors_of(run_full(load_library(GetParam()), {trajectory})[0], trajectory);
    std::printf("largest error: out %.2e, lse %.2e\n", errors.out, errors.lse);
    EXPECT_LE(errors.out, out_limit);
    EXPECT_LE(errors.lse, lse_limit);
  }
};

INSTANTIATE_TEST_SUITE_P(Libraries, Accuracy, ::testing::Values("root", "fast", "mixed"),
                         [](auto const& info) { return std::string(info.param); });

TEST_P(Accuracy, NormalInputs) { expect_accurate(random_trajectory({4, 2, 64}, 333, 21), 1e-5); }

TEST_P(Accuracy, NormalInputsOfHeadDim128) { expect_accurate(random_trajectory({4, 1, 128}, 190, 22), 1e-5); }

TEST_P(Accuracy, LargeScores) { expect_accurate(random_trajectory({2, 1, 64}, 200, 23, 30), 1e-4); }

TEST_P(Accuracy, EqualKeys) {
  auto trajectory = random_trajectory({2, 1, 64}, 257, 24);
  for (std::size_t i = 64; i < trajectory.keys.size(); ++i) trajectory.keys[i] = trajectory.keys[i - 64];
  expect_accurate(trajectory, 1e-5);
}

// One key takes nearly all the weight of every later row: its partners underflow.
TEST_P(Accuracy, ADominantKey) {
  auto trajectory = random_trajectory({2, 1, 64}, 140, 25);
  for (int t = 0; t < trajectory.tokens; ++t) {
    for (int d = 0; d < 128; ++d) trajectory.queries[t * 128 + d] = bf16_of(4);
  }
  for (int d = 0; d < 64; ++d) trajectory.keys[50 * 64 + d] = bf16_of(8);
  expect_accurate(trajectory, 1e-4);
}

// The limits above are tight enough to see a coarse exponential.
TEST(AccuracyLimits, FindACoarseExponential) {
  auto const trajectory = random_trajectory({2, 1, 64}, 100, 26);
  auto const errors = errors_of(run_full(load_library("coarse"), {trajectory})[0], trajectory);
  EXPECT_GT(errors.lse, 5e-3);
}

TEST(Reference, OneTokenReturnsItsValueAndItsScore) {
  auto const trajectory = random_trajectory({2, 1, 64}, 1, 27);
  auto const reference = reference_of(trajectory);
  for (int head = 0; head < 2; ++head) {
    double score = 0;
    for (int d = 0; d < 64; ++d) {
      score += double{float_of(trajectory.queries[head * 64 + d])} * float_of(trajectory.keys[d]);
      EXPECT_EQ(reference.out[head * 64 + d], float_of(trajectory.values[d]));
    }
    EXPECT_NEAR(reference.lse[head], score / 8, 1e-12);
  }
}

TEST(Reference, EqualScoresAverageTheValuesSeen) {
  auto trajectory = random_trajectory({1, 1, 64}, 5, 28);
  std::fill(trajectory.queries.begin(), trajectory.queries.end(), bf16_of(0));
  auto const reference = reference_of(trajectory);
  for (int d = 0; d < 64; ++d) {
    double sum = 0;
    for (int t = 0; t < 5; ++t) {
      sum += float_of(trajectory.values[t * 64 + d]);
      EXPECT_NEAR(reference.out[t * 64 + d], sum / (t + 1), 1e-12);
    }
  }
  EXPECT_NEAR(reference.lse[4], std::log(5.0), 1e-12);
}

TEST(Reference, EntriesAgreeOnTheSamePrefix) {
  Heads const heads{4, 2, 64};
  auto const trajectory = random_trajectory(heads, 37, 29);
  auto const whole = reference_of(trajectory);
  Cache cache(heads, 1, 37, 5, 30);
  for (int t = 0; t < 37; ++t) cache.append(0, trajectory);
  int32_t const length = 37, offsets[] = {0, 6};
  FullRequest request(trajectory);
  request.args.kv = cache.view();
  request.args.kv_lengths = &length;
  request.args.queries += int64_t{31} * trajectory.query_width();
  request.args.query_offsets = offsets;
  Reference chunk, token;
  ASSERT_FALSE(compute_reference(Entry::extend, request.args, chunk, 3));
  request.args.queries += int64_t{5} * trajectory.query_width();
  ASSERT_FALSE(compute_reference(Entry::decode, request.args, token, 1));
  EXPECT_EQ(chunk.rows, 6);
  EXPECT_EQ(token.rows, 1);
  EXPECT_TRUE(std::equal(chunk.out.begin(), chunk.out.end(), whole.out.end() - int64_t(chunk.out.size())));
  EXPECT_TRUE(std::equal(chunk.lse.begin(), chunk.lse.end(), whole.lse.end() - 24));
  EXPECT_TRUE(std::equal(token.out.begin(), token.out.end(), whole.out.end() - int64_t(token.out.size())));
}

TEST(Reference, RefusesABadShape) {
  auto const trajectory = random_trajectory({2, 1, 64}, 3, 31);
  FullRequest request(trajectory);
  request.args.shape.head_dim = 80;
  Reference reference;
  auto const refusal = compute_reference(Entry::full, request.args, reference);
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->sentence.find("head_dim is 80"), std::string::npos) << refusal->sentence;
}

} // namespace
} // namespace tik::attention::testing
