// What ptxas and cuobjdump say about a GPU library, read from samples that they wrote (samples/kernels.cu.txt is their source).
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "src/base/files.h"
#include "src/evaluator/device_profile.h"
#include "src/evaluator/kernel_name.h"
#include "src/evaluator/ptxas.h"
#include "src/evaluator/sass.h"

namespace tik::evaluator {
namespace {

std::string sample(std::string const& name) {
  Result<std::string> text = read_file(std::string(TIK_SOURCE_DIR) + "/tests/evaluator/samples/" + name);
  EXPECT_TRUE(text.has_value());
  return text.value_or("");
}

Json const* find_kernel(Json const& evidence, std::string const& part) {
  for (Json const& kernel : evidence.at("kernels")) {
    if (kernel.at("kernel").get<std::string>().find(part) != std::string::npos) return &kernel;
  }
  return nullptr;
}

TEST(Ptxas, ResourcesAreReadByKernel) {
  Json const evidence = summarize_ptxas(sample("ptxas.txt"));
  ASSERT_EQ(evidence.at("kernels").size(), 2U);
  Json const* const group = find_kernel(evidence, "group_product");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->at("registers"), 30);
  EXPECT_EQ(group->at("static_shared_bytes"), 128);
  EXPECT_EQ(group->at("barriers"), 1);
  EXPECT_EQ(group->at("spill_store_bytes"), 0);
  Json const* const warp = find_kernel(evidence, "warp_product");
  ASSERT_NE(warp, nullptr);
  EXPECT_EQ(warp->at("registers"), 18);
}

TEST(Ptxas, SpillsAndSerializedProductsAreSeen) {
  Json const evidence = summarize_ptxas(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to a call\n"
      "ptxas info    : Compiling entry function 'attend' for 'sm_90a'\n"
      "ptxas info    : Function properties for attend\n"
      "    208 bytes stack frame, 276 bytes spill stores, 280 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 0 barriers, 208 bytes cumulative stack size\n");
  Json const& kernel = evidence.at("kernels").at(0);
  EXPECT_EQ(kernel.at("stack_bytes"), 208);
  EXPECT_EQ(kernel.at("spill_store_bytes"), 276);
  EXPECT_EQ(kernel.at("spill_load_bytes"), 280);
  EXPECT_EQ(kernel.at("registers"), 255);
  ASSERT_EQ(evidence.at("remarks").size(), 1U);
}

TEST(Ptxas, OnlyNvccIsAsked) {
  EXPECT_TRUE(is_nvcc("nvcc"));
  EXPECT_TRUE(is_nvcc("/usr/local/cuda/bin/nvcc"));
  EXPECT_FALSE(is_nvcc("nvcc.sh"));
  EXPECT_FALSE(is_nvcc("g++"));
}

TEST(Sass, TensorCoreAndCopyInstructionsAreCountedByKernelAndForm) {
  Json const evidence = summarize_sass(sample("sass.txt"));
  Json const* const group = find_kernel(evidence, "group_product");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->at("classes").at("wgmma"), 1);
  EXPECT_EQ(group->at("forms").at("HGMMA.64x8x16.F32.BF16"), 1);
  EXPECT_EQ(group->at("classes").at("tma_load"), 1);
  EXPECT_EQ(group->at("forms").at("UTMALDG.2D"), 1);
  EXPECT_FALSE(group->at("classes").contains("mma"));
  Json const* const warp = find_kernel(evidence, "warp_product");
  ASSERT_NE(warp, nullptr);
  EXPECT_EQ(warp->at("classes").at("mma"), 1);
  EXPECT_EQ(warp->at("classes").at("async_copy"), 1);
  EXPECT_EQ(warp->at("classes").at("ex2"), 1);
  EXPECT_EQ(warp->at("classes").at("shuffle"), 1);
  EXPECT_EQ(evidence.at("total").at("instructions").get<long>(),
            group->at("instructions").get<long>() + warp->at("instructions").get<long>());
}

TEST(Profile, CountersAreReadByKernel) {
  Result<Json> const kernels = read_profile(sample("ncu.txt"));
  ASSERT_TRUE(kernels.has_value()) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 2U);
  Json const& part = kernels->at(0);
  EXPECT_EQ(part.at("kernel"), "void attend<(int)128>(tik_attention_args)");
  EXPECT_EQ(part.at("grid"), "(8, 4, 1)");
  EXPECT_DOUBLE_EQ(part.at("metrics").at("duration_us").get<double>(), 1234.568);
  EXPECT_DOUBLE_EQ(part.at("metrics").at("dram_read_bytes").get<double>(), 16777216);
  EXPECT_TRUE(part.at("metrics").at("tensor_pipe_percent").is_null()); // "n/a"
  EXPECT_TRUE(part.at("metrics").at("stall_barrier").is_null());       // not in the table
}

TEST(Profile, ARefusalOfTheDriverSaysWhatToDo) {
  Result<Json> const refused = read_profile(
      "==PROF== Connected to process 12 (/program/tik)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to "
      "access "
      "NVIDIA GPU Performance Counters on the target device 0.\n");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  Result<Json> const other = read_profile("==ERROR== The application returned an error code (1).\n\n");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().message, "ncu: The application returned an error code (1).");
}

TEST(DeviceEvidence, AnyTextIsRead) {
  EXPECT_TRUE(rc::check([](std::string const& text) {
    Result<Json> const profile = read_profile("\"ID\",\"" + text + "\"\n" + text + "\n" + text);
    RC_ASSERT(profile.has_value() || !profile.error().message.empty());
    RC_ASSERT(summarize_sass(text).contains("kernels"));
    RC_ASSERT(summarize_ptxas(text).contains("kernels"));
    RC_ASSERT(summarize_ptxas("Compiling entry function '" + text + "'\n" + text).contains("kernels"));
  }));
}

TEST(KernelName, OfAnUnnamedNamespaceOnlyTheFileIsNamed) {
  EXPECT_EQ(kernel_name("_ZN47_GLOBAL__N__fbf53be7_14_kernels_cu_txt_cdf7b03713group_productILi8EEEvmPf"),
            "void kernels_cu_txt::group_product<8>(unsigned long, float*)");
  EXPECT_EQ(kernel_name("not mangled"), "not mangled");
  for (char const* odd :
       {"_GLOBAL__N__", "_GLOBAL__N__::f", "_GLOBAL__N__01234567_::", "_GLOBAL__N__01234567_7_full_cu::f", ""})
    EXPECT_EQ(kernel_name(odd), odd);
}

} // namespace
} // namespace tik::evaluator
