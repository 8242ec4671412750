// The shared cases of token-wise operators: the CPU backend passes them all, and a backend that breaks a promise does not.
#include <gtest/gtest.h>

#include "operators/check/attention_backward_cases.h"
#include "operators/check/operators.h"
#include "operators/check/suite.h"

namespace tik::operators::check {
namespace {

void expect_no_failure(Results const& results) {
  for (Line const& line : results.lines()) {
    EXPECT_GT(line.cases, 0) << line.operator_name;
    EXPECT_EQ(line.failed, 0) << line.operator_name << " " << line.shape << ": " << line.first_failure;
  }
}

TEST(Checks, EveryOperatorOfTheCpuBackendPassesAtTheShapesOfModels) {
  HostDevice device;
  Results results;
  std::vector<ModelShape> const& models = known_models();
  check_operators(device, {models.front(), models.back()}, {Extent::tiny}, results);
  expect_no_failure(results);
  EXPECT_GT(results.lines().size(), 20u);
}

TEST(Checks, EveryOperatorOfTheCpuBackendPassesAtUnusualShapes) {
  HostDevice device;
  Results results;
  check_unusual_shapes(device, {Extent::brief}, results);
  expect_no_failure(results);
}

TEST(Checks, EveryRequestThatContradictsItsContractIsRefused) {
  HostDevice device;
  Results results;
  check_refusals(device, results);
  expect_no_failure(results);
}

int failures_of(tik_status (*rms_norm)(tik_rms_norm_args const*)) {
  Functions functions = cpu_functions();
  functions.rms_norm = rms_norm;
  HostDevice device(functions);
  Results results;
  check_token_operator(device, *make_rms_norm({1, 256}), {Extent::brief}, results);
  return results.lines().back().failed;
}

TEST(TokenCases, ABitThatDependsOnTheBatchIsFound) {
  EXPECT_GT(failures_of([](tik_rms_norm_args const* args) {
              tik_status const status = cpu::rms_norm(args);
              if (args->tokens > 40) args->out.data[args->out.token_stride + 3] ^= 1;
              return status;
            }),
            0);
}

TEST(TokenCases, AWriteBesideTheOutputIsFound) {
  EXPECT_GT(failures_of([](tik_rms_norm_args const* args) {
              tik_status const status = cpu::rms_norm(args);
              args->out.data[args->tokens * args->out.token_stride] = 0;
              return status;
            }),
            0);
}

TEST(TokenCases, AChangedInputIsFound) {
  EXPECT_GT(failures_of([](tik_rms_norm_args const* args) {
              const_cast<tik_bf16*>(args->x.data)[1] ^= 1;
              return cpu::rms_norm(args);
            }),
            0);
}

TEST(TokenCases, AnOutputThatIsNotWrittenIsFound) {
  EXPECT_GT(failures_of([](tik_rms_norm_args const* args) {
              tik_rms_norm_args fewer = *args;
              fewer.tokens = std::max(1, args->tokens - (args->tokens > 30));
              return cpu::rms_norm(&fewer);
            }),
            0);
}

TEST(TokenCases, ARefusalIsFound) {
  EXPECT_GT(
      failures_of([](tik_rms_norm_args const* args) { return args->tokens == 50 ? TIK_UNSUPPORTED : cpu::rms_norm(args); }), 0);
}

int backward_failures_of(tik_status (*backward)(tik_attention_full_backward_args const*)) {
  Functions functions = cpu_functions();
  functions.attention_full_backward = backward;
  HostDevice device(functions);
  Results results;
  check_attention_backward(device, {4, 2, 64}, {Extent::brief}, results);
  return results.lines().back().failed;
}

TEST(AttentionBackwardCases, ABitThatDependsOnTheBatchIsFound) {
  EXPECT_GT(backward_failures_of([](tik_attention_full_backward_args const* args) {
              tik_status const status = cpu::attention_full_backward(args);
              if (args->batch > 2) args->key_gradient.data[args->query_offsets[1] * args->key_gradient.token_stride] ^= 1;
              return status;
            }),
            0);
}

TEST(AttentionBackwardCases, AWriteToPaddingIsFound) {
  EXPECT_GT(backward_failures_of([](tik_attention_full_backward_args const* args) {
              tik_status const status = cpu::attention_full_backward(args);
              int const used = args->query_offsets[args->batch];
              if (used < args->tokens) args->value_gradient.data[used * args->value_gradient.token_stride] = 0;
              return status;
            }),
            0);
}

TEST(AttentionBackwardCases, AGradientOfAnotherScaleIsFound) {
  EXPECT_GT(backward_failures_of([](tik_attention_full_backward_args const* args) {
              tik_attention_full_backward_args changed = *args;
              changed.shape.softmax_scale *= 1.05f;
              return cpu::attention_full_backward(&changed);
            }),
            0);
}

} // namespace
} // namespace tik::operators::check
