// What is made of the kernels that CUPTI saw run, and of the nodes of the timed graphs.
#include "src/evaluator/device_dispatch.h"

#include <gmock/gmock.h>

#include "src/evaluator/cupti.h"

#if __has_include(<cupti_activity.h>)
#include <cuda.h>
// After the driver's types.
#include <cupti_activity.h>
#define TIK_HAS_CUPTI
#endif

namespace tik::evaluator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NodeReply kernel(std::string name, std::uint32_t blocks) {
  NodeReply node;
  node.name = std::move(name);
  node.grid = {blocks, 1, 1};
  node.block = {128, 1, 1};
  node.registers = 128;
  node.dynamic_shared_bytes = 65536;
  return node;
}

RecordedKernels always(std::vector<NodeReply> const& kernels) { return {kernels, kernels, kernels}; }

TEST(Dispatch, TheSameKernelsInAnyOrderAgree) {
  Json const nodes = {launch_json(kernel("part", 8)), launch_json(kernel("fold", 2)), launch_json(kernel("part", 8))};
  EXPECT_THAT(differences(always({kernel("fold", 2), kernel("part", 8), kernel("part", 8)}), nodes), IsEmpty());
}

TEST(Dispatch, AKernelThatIsNotInTheTimedGraphIsFound) {
  Json const nodes = Json::array({launch_json(kernel("part", 8))});
  RecordedKernels recorded = always({kernel("part", 8)});
  recorded.captured.push_back(kernel("hidden", 4));
  EXPECT_THAT(differences(recorded, nodes),
              ElementsAre(HasSubstr("hidden (grid 4x1x1, block 128x1x1, 65536 bytes of dynamic shared memory) ran 1 times "
                                    "while a call was captured and launched, and the timed graph has it 0 times")));
}

TEST(Dispatch, AKernelOfTheTimedGraphThatDoesNotRunIsFound) {
  Json const nodes = {launch_json(kernel("part", 8)), launch_json(kernel("part", 8))};
  RecordedKernels recorded = always({kernel("part", 8), kernel("part", 8)});
  recorded.launched.pop_back();
  EXPECT_THAT(differences(recorded, nodes), ElementsAre(HasSubstr("ran 1 times when the captured graph was launched again")));
  recorded.launched.push_back(kernel("part", 9)); // another grid is another launch
  EXPECT_EQ(differences(recorded, nodes).size(), 2U);
}

TEST(Dispatch, WhatLimitsTheResidentBlocksIsNamed) {
  Json const launch = launch_json(kernel("part", 8));
  // 65536 + 1024 bytes: three blocks in 228 KiB; 128 registers of 128 threads: four in 65536.
  EXPECT_EQ(launch.at("occupancy").at("blocks_a_multiprocessor"), 3);
  EXPECT_THAT(launch.at("occupancy").at("set_by"), ElementsAre("shared memory"));
  EXPECT_EQ(launch.at("occupancy").at("limits").at("registers"), 4);
}

TEST(Cupti, SaysWhatItLacksOnAMachineWithoutAGpu) {
  cuda::KernelRecorder recorder;
  Result<void> const stopped = recorder.stop();
  ASSERT_FALSE(stopped.has_value());
  EXPECT_THAT(stopped.error().message, HasSubstr("no kernels are being recorded"));
  if (Result<void> const started = recorder.start(); !started) {
    EXPECT_THAT(started.error().message, HasSubstr("CUPTI"));
  }
}

TEST(Cupti, ItsRecordsBeginAsItsHeaderSays) {
#ifdef TIK_HAS_CUPTI
  using Theirs = CUpti_ActivityKernel10;
  using Ours = cuda::KernelActivity;
  EXPECT_EQ(cuda::concurrent_kernel_activity, static_cast<std::uint32_t>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  EXPECT_EQ(offsetof(Ours, registers), offsetof(Theirs, registersPerThread));
  EXPECT_EQ(offsetof(Ours, start), offsetof(Theirs, start));
  EXPECT_EQ(offsetof(Ours, end), offsetof(Theirs, end));
  EXPECT_EQ(offsetof(Ours, grid), offsetof(Theirs, gridX));
  EXPECT_EQ(offsetof(Ours, block), offsetof(Theirs, blockX));
  EXPECT_EQ(offsetof(Ours, static_shared_bytes), offsetof(Theirs, staticSharedMemory));
  EXPECT_EQ(offsetof(Ours, dynamic_shared_bytes), offsetof(Theirs, dynamicSharedMemory));
  EXPECT_EQ(offsetof(Ours, local_bytes), offsetof(Theirs, localMemoryPerThread));
  EXPECT_EQ(offsetof(Ours, grid_id), offsetof(Theirs, gridId));
  EXPECT_EQ(offsetof(Ours, name), offsetof(Theirs, name));
#else
  GTEST_SKIP() << "The CUDA toolkit is not there.";
#endif
}

} // namespace
} // namespace tik::evaluator
