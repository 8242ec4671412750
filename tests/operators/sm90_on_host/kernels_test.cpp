// The kernels for Hopper of the operators on single tokens, thread by thread on the host: the same cases as on a GPU, against
// the bits of the CPU backend. What a GPU alone shows (its arithmetic, races, alignment) is left to tests/gpu.
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "operators/check/cache_buffers.h"
#include "operators/check/operators.h"
#include "operators/check/token_cases.h"
#include "operators/qk_norm_rope_kv_write/sm90/many_tokens.h"

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
  expect_bits_of_the_cpu(make_rms_norm({32, 128}), Extent::brief);
  for (NormShape const& shape : {NormShape{15, 64}, NormShape{17, 256, true}, NormShape{3, 96, true}, NormShape{1, 8}})
    expect_bits_of_the_cpu(make_rms_norm(shape), Extent::tiny);
}

TEST(HopperKernelsOnTheHost, RowsOfABlockHaveTheBitsOfTheCpu) {
  expect_bits_of_the_cpu(make_rms_norm({135, 3072}), Extent::tiny); // more rows than a round of blocks: four chunks a thread
  expect_bits_of_the_cpu(make_rms_norm({80, 3072, true}), Extent::tiny);
  expect_bits_of_the_cpu(make_rms_norm({50, 1536}), Extent::tiny);
  for (NormShape const& shape : {NormShape{1, 264}, NormShape{1, 1536, true}, NormShape{1, 4096}, NormShape{1, 8192, true}})
    expect_bits_of_the_cpu(make_rms_norm(shape), Extent::tiny);
}

TEST(HopperKernelsOnTheHost, RotationsHaveTheBitsOfTheCpu) {
  expect_bits_of_the_cpu(make_rotary({5, 3, 64, true, true}), Extent::tiny);
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

TEST(HopperKernelsOnTheHost, TwoHeadsAThreadHaveTheBitsOfTheCpu) {
  constexpr int tokens = 400, query_heads = 126, key_heads = 2, dim = 128; // more than threads with one head each are made for
  std::vector<float> table(std::size_t{tokens} * dim);
  std::vector<int32_t> positions(tokens);
  for (int i = 0; i < tokens; ++i) positions[i] = i % 7 == 3 ? -1 : tokens - 1 - i;
  std::vector<tik_bf16> in(std::size_t{tokens} * (query_heads + key_heads) * dim);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i % 2003) / 1001 - 1;
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<tik_bf16>(i * 40503 % 0x3f80 | i % 2 << 15);
  auto const rotated = [&](auto rotary) {
    std::vector<tik_bf16> out(in.size(), 0x1234);
    int64_t const stride = (query_heads + key_heads) * dim;
    tik_rotary_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens, args.query_heads = query_heads, args.key_heads = key_heads, args.head_dim = dim;
    args.table_positions = tokens, args.table = table.data(), args.positions = positions.data();
    args.queries = {in.data(), stride, dim}, args.keys = {in.data() + query_heads * dim, stride, dim};
    args.queries_out = {out.data(), stride, dim}, args.keys_out = {out.data() + query_heads * dim, stride, dim};
    EXPECT_EQ(rotary(&args), TIK_OK);
    return out;
  };
  EXPECT_EQ(rotated(sm90::rotary), rotated(cpu::rotary));
}

// Threads that keep their heads over two tokens while all blocks are resident, and in blocks that others follow; and heads that
// do not suit them.
TEST(HopperKernelsOnTheHost, FusedStepsOfManyTokensHaveTheBitsOfTheCpu) {
  HostDevice device(hopper_on_host());
  HostDevice host;
  struct Case {
    CacheShape shape;
    int tokens;
  };
  for (Case const& c : {Case{{32, 8, 128, true}, 601}, Case{{2, 2, 64, false}, 5701}, Case{{33, 1, 128, true}, 500}}) {
    auto const buffers = [&](Device& on) {
      return CacheBuffers(on, c.shape, CacheLayout{16}, c.tokens, 3, table_positions, false, 7);
    };
    CacheImage const expected = buffers(host).run_separate();
    CacheImage const actual = buffers(device).run_fused();
    std::string const what = describe(c.shape) + ", " + std::to_string(c.tokens) + " tokens";
    EXPECT_EQ(actual.keys, expected.keys) << what;
    EXPECT_EQ(actual.values, expected.values) << what;
    EXPECT_EQ(actual.queries, expected.queries) << what;
  }
}

template <int MostThreads, int Turns>
tik_status fused_step_in_cut(tik_qk_norm_rope_kv_write_args const* args) {
  return sm90::qk_norm_rope_kv_write(args, {MostThreads, Turns});
}

TEST(HopperKernelsOnTheHost, FusedStepsOfManyTokensHaveTheBitsOfTheCpuHoweverTheyAreCut) {
  HostDevice host;
  for (auto const& [shape, tokens] : {std::pair{CacheShape{12, 2, 128, true}, 37}, {CacheShape{2, 4, 64, false}, 101}}) {
    auto const buffers = [&, &shape = shape, &tokens = tokens](Device& on) {
      return CacheBuffers(on, shape, CacheLayout{16}, tokens, 3, table_positions, false, 7);
    };
    CacheImage const expected = buffers(host).run_separate();
    for (auto* const cut :
         {fused_step_in_cut<384, 0>, fused_step_in_cut<192, 0>, fused_step_in_cut<384, 1>, fused_step_in_cut<192, 1>,
          fused_step_in_cut<192, 2>, fused_step_in_cut<1, 4>, fused_step_in_cut<192, 5>, fused_step_in_cut<384, 64>}) {
      Functions functions = hopper_on_host();
      functions.qk_norm_rope_kv_write = cut;
      HostDevice device(functions);
      CacheImage const actual = buffers(device).run_fused();
      EXPECT_EQ(actual.keys, expected.keys) << describe(shape);
      EXPECT_EQ(actual.values, expected.values) << describe(shape);
      EXPECT_EQ(actual.queries, expected.queries) << describe(shape);
    }
  }
}

TEST(HopperKernelsOnTheHost, CutsThatAreNoneAreRefused) {
  HostDevice host;
  for (auto* const cut : {fused_step_in_cut<0, 1>, fused_step_in_cut<385, 1>, fused_step_in_cut<192, -1>}) {
    Functions functions = hopper_on_host();
    functions.qk_norm_rope_kv_write = cut;
    HostDevice device(functions);
    EXPECT_THROW(CacheBuffers(device, {2, 2, 64, false}, CacheLayout{16}, 9, 3, table_positions, false, 7).run_fused(),
                 std::runtime_error);
  }
  Functions functions = hopper_on_host();
  functions.qk_norm_rope_kv_write = fused_step_in_cut<192, 1>;
  HostDevice device(functions);
  EXPECT_THROW(CacheBuffers(device, {3, 1, 64, false}, CacheLayout{16}, 9, 3, table_positions, false, 7).run_fused(),
               std::runtime_error);
}

#else

TEST(HopperKernelsOnTheHost, AreLeftOut) { GTEST_SKIP() << "built without CUDA's headers, or with a sanitizer"; }

#endif

} // namespace
} // namespace tik::operators::check
