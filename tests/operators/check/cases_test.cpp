// The shared cases of token-wise operators: the CPU backend passes them all, and a backend that breaks a promise does not.
#include <gtest/gtest.h>

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

// The CPU backend with one change to a call.
class ChangedDevice final : public Device {
 public:
  explicit ChangedDevice(tik_status (*rms_norm)(tik_rms_norm_args const*)) : functions_(cpu_functions()) {
    functions_.rms_norm = rms_norm;
  }
  std::string name() const override { return "changed"; }
  Functions const& functions() const override { return functions_; }
  void* allocate(std::size_t bytes) override { return host_.allocate(bytes); }
  void release(void* memory) noexcept override { host_.release(memory); }
  void upload(void* to, void const* from, std::size_t bytes) override { host_.upload(to, from, bytes); }
  void download(void* to, void const* from, std::size_t bytes) override { host_.download(to, from, bytes); }
  void poison(void* memory, std::size_t bytes) override { host_.poison(memory, bytes); }

 private:
  HostDevice host_;
  Functions functions_;
};

int failures_of(tik_status (*rms_norm)(tik_rms_norm_args const*)) {
  ChangedDevice device(rms_norm);
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

} // namespace
} // namespace tik::operators::check
