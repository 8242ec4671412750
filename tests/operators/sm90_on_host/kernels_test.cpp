// The kernels for Hopper of the operators on single tokens, thread by thread on the host: the same cases as on a GPU, against
// the bits of the CPU backend. What a GPU alone shows (its arithmetic, races, alignment) is left to tests/gpu.
#include <gtest/gtest.h>

#include "operators/check/cache_buffers.h"
#include "operators/check/operators.h"
#include "operators/check/token_cases.h"

namespace tik::operators::check {
namespace {

#ifdef TIK_SM90_ON_HOST

// The CPU backend with the kernels for Hopper in its place, where they run on the host.
Functions hopper_on_host() {
  Functions functions = cpu_functions();
  functions.rms_norm = sm90::rms_norm;
  functions.rotary = sm90::rotary;
  functions.kv_write = sm90::kv_write;
  functions.qk_norm_rope_kv_write = sm90::qk_norm_rope_kv_write;
  functions.swiglu = sm90::swiglu;
  functions.swiglu_backward = sm90::swiglu_backward;
  functions.embedding = sm90::embedding;
  return functions;
}

void expect_bits_of_the_cpu(std::unique_ptr<TokenOperator> checked, Extent extent) {
  HostDevice device(hopper_on_host());
  Results results([](Line const& line, bool passed, std::string const& label, std::string const& detail) {
    EXPECT_TRUE(passed) << line.operator_name << " " << line.shape << ", " << label << ": " << detail;
  });
  check_token_operator(device, *checked, {extent, 1}, results);
  EXPECT_GT(results.lines().back().cases, 5);
}

TEST(HopperKernelsOnTheHost, RowsOfSomeLanesHaveTheBitsOfTheCpu) {
  expect_bits_of_the_cpu(make_rms_norm({32, 128}), Extent::brief); // with one row a thread, and with two
  for (NormShape const& shape : {NormShape{15, 64}, NormShape{17, 256, true}, NormShape{3, 96, true}, NormShape{1, 8}})
    expect_bits_of_the_cpu(make_rms_norm(shape), Extent::tiny);
}

TEST(HopperKernelsOnTheHost, RowsOfABlockHaveTheBitsOfTheCpu) {
  expect_bits_of_the_cpu(make_rms_norm({40, 3072}), Extent::tiny); // more rows than multiprocessors: four chunks a thread
  expect_bits_of_the_cpu(make_rms_norm({50, 1536}), Extent::tiny);
  for (NormShape const& shape : {NormShape{1, 264}, NormShape{1, 1536, true}, NormShape{1, 4096}, NormShape{1, 8192, true}})
    expect_bits_of_the_cpu(make_rms_norm(shape), Extent::tiny);
}

TEST(HopperKernelsOnTheHost, RotationsHaveTheBitsOfTheCpu) {
  expect_bits_of_the_cpu(make_rotary({5, 3, 64, true, true}), Extent::brief); // with one head a thread, and with two
  expect_bits_of_the_cpu(make_rotary({12, 0, 128, false, false}), Extent::tiny);
}

TEST(HopperKernelsOnTheHost, ElementsAndCopiesHaveTheBitsOfTheCpu) {
  expect_bits_of_the_cpu(make_swiglu(1000, Distribution::large), Extent::brief);
  expect_bits_of_the_cpu(make_swiglu_backward(264, Distribution::large), Extent::brief);
  expect_bits_of_the_cpu(make_embedding(136, 30), Extent::brief);
}

TEST(HopperKernelsOnTheHost, CachesHaveTheBitsOfTheCpu) {
  HostDevice device(hopper_on_host());
  HostDevice host;
  struct Case {
    CacheShape shape;
    int tokens; // around those from which a thread has several heads or tokens
  };
  for (Case const& c : {Case{{6, 3, 128, true}, 1}, Case{{6, 3, 128, true}, 65}, Case{{7, 1, 64, true}, 64},
                        Case{{7, 1, 64, false}, 66}, Case{{1, 1, 64, false}, 515}}) {
    for (CacheLayout const& layout : {CacheLayout{16}, CacheLayout{0, true}}) {
      bool const decode = c.tokens % 2 == 1;
      auto const buffers = [&](Device& on) {
        return CacheBuffers(on, c.shape, layout, c.tokens, decode ? c.tokens : 2, 2 * c.tokens + 60, decode, 7);
      };
      CacheImage const expected = buffers(host).run_separate();
      for (bool const fused : {false, true}) {
        CacheImage const actual = fused ? buffers(device).run_fused() : buffers(device).run_separate();
        std::string const what = describe(c.shape) + ", " + std::to_string(c.tokens) + " tokens, " + describe(layout);
        EXPECT_EQ(actual.keys, expected.keys) << what;
        EXPECT_EQ(actual.values, expected.values) << what;
        EXPECT_EQ(actual.queries, expected.queries) << what;
      }
    }
  }
}

#else

TEST(HopperKernelsOnTheHost, AreLeftOut) { GTEST_SKIP() << "built without CUDA's headers, or with a sanitizer"; }

#endif

} // namespace
} // namespace tik::operators::check
