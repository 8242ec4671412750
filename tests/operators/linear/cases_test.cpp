// The cases of dense linear and of the head: the CPU backend passes them all, and a backend that breaks a promise does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "operators/check/dense_cases.h"
#include "operators/linear/validate.h"

namespace tik::operators::check {
namespace {

void expect_all_passed(Results const& results) {
  ASSERT_FALSE(results.lines().empty());
  for (Line const& line : results.lines()) {
    EXPECT_GT(line.cases, 0) << line.operator_name << " " << line.shape;
    EXPECT_EQ(line.failed, 0) << line.operator_name << " " << line.shape << ": " << line.first_failure;
  }
}

TEST(DenseCases, TheCpuBackendPasses) {
  HostDevice device;
  Results results;
  check_dense(device, {Extent::tiny}, results);
  expect_all_passed(results);
}

TEST(DenseCases, TheCpuBackendPassesMoreTokens) {
  HostDevice device;
  Results results;
  check_linear(device, {1536, 64, true, false, 8}, {Extent::brief}, results);
  check_language_model_head(device, {64, 2056, 1.3f}, {Extent::brief}, results);
  expect_all_passed(results);
}

// The CPU backend with one function exchanged.
class ChangedDevice final : public Device {
 public:
  Functions changed = cpu_functions();
  std::string name() const override { return "changed"; }
  Functions const& functions() const override { return changed; }
  void* allocate(std::size_t bytes) override { return host_.allocate(bytes); }
  void release(void* memory) noexcept override { host_.release(memory); }
  void upload(void* to, void const* from, std::size_t bytes) override { host_.upload(to, from, bytes); }
  void download(void* to, void const* from, std::size_t bytes) override { host_.download(to, from, bytes); }
  void poison(void* memory, std::size_t bytes) override { host_.poison(memory, bytes); }

 private:
  HostDevice host_;
};

int failures_of(tik_status (*linear)(tik_linear_args const*)) {
  ChangedDevice device;
  device.changed.linear = linear;
  Results results;
  check_linear(device, {64, 32}, {Extent::brief}, results);
  return results.lines().back().failed;
}

TEST(DenseCases, ABitThatDependsOnTheBatchIsFound) {
  EXPECT_GT(failures_of([](tik_linear_args const* args) {
              tik_status const status = cpu::linear(args);
              if (args->tokens > 60) static_cast<tik_bf16*>(args->out)[args->out_stride] ^= 1;
              return status;
            }),
            0);
}

TEST(DenseCases, ABitThatDependsOnTheColumnsOfACallIsFound) {
  EXPECT_GT(failures_of([](tik_linear_args const* args) {
              tik_status const status = cpu::linear(args);
              if (args->out_features < 32) static_cast<tik_bf16*>(args->out)[0] ^= 1;
              return status;
            }),
            0);
}

TEST(DenseCases, AWriteBehindTheLastTokenIsFound) {
  EXPECT_GT(failures_of([](tik_linear_args const* args) {
              static_cast<tik_bf16*>(args->out)[args->tokens * args->out_stride] = 0;
              return cpu::linear(args);
            }),
            0);
}

TEST(DenseCases, APlanThatDoesNotEndIsFound) {
  ChangedDevice device;
  device.changed.linear_plan = [](tik_linear_plan_args const* args) {
    std::fill(args->text, args->text + TIK_LINEAR_PLAN_BYTES, 'x');
    return TIK_OK;
  };
  Results results;
  check_linear(device, {64, 32}, {Extent::tiny}, results);
  EXPECT_EQ(results.lines().back().failed, 1);
}

TEST(LinearPlan, IsCutWhereThereIsNoRoom) {
  char text[TIK_LINEAR_PLAN_BYTES];
  linear::write_plan({sizeof(tik_linear_plan_args), {}, text}, std::string(1000, 'x'));
  EXPECT_EQ(std::string(text), std::string(TIK_LINEAR_PLAN_BYTES - 1, 'x'));
}

int head_failures_of(tik_status (*head)(tik_language_model_head_args const*)) {
  ChangedDevice device;
  device.changed.language_model_head = head;
  Results results;
  check_language_model_head(device, {16, 1032}, {Extent::tiny}, results);
  return results.lines().back().failed;
}

TEST(DenseCases, AHeadThatDiffersFromItsLogitsIsFound) {
  EXPECT_GT(head_failures_of([](tik_language_model_head_args const* args) {
              tik_language_model_head_args warmer = *args;
              warmer.temperature *= 1.0001f;
              return cpu::language_model_head(&warmer);
            }),
            0);
}

TEST(DenseCases, AnEntropyThatIsOffIsFound) {
  EXPECT_GT(head_failures_of([](tik_language_model_head_args const* args) {
              tik_status const status = cpu::language_model_head(args);
              for (int t = 0; t < args->tokens; ++t) args->outputs.entropy[t] += 0.01f;
              return status;
            }),
            0);
}

} // namespace
} // namespace tik::operators::check
