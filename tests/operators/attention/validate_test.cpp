#include "operators/attention/validate.h"

#include <gtest/gtest.h>

#include "tests/operators/attention/refusal_cases.h"

namespace tik::attention {
namespace {

constexpr int64_t needed_workspace = 1024;

int64_t workspace(tik_attention_shape const&, tik_attention_limits const&) { return needed_workspace; }
int64_t no_workspace(tik_attention_shape const&, tik_attention_limits const&) { return 0; }

// An aligned address that nothing reads: validation looks at addresses only.
template <typename T>
T* address(int number) {
  alignas(256) static char memory[16 * 256];
  return reinterpret_cast<T*>(memory + 256 * number);
}

tik_attention_args good_request(Entry entry, bool paged) {
  tik_attention_args args{};
  args.struct_bytes = sizeof(args);
  args.batch = 3;
  args.shape = {8, 2, 128, 0.088f};
  args.limits = entry == Entry::decode ? tik_attention_limits{4, 4, 1, 100} : tik_attention_limits{4, 60, 20, 100};
  args.queries = address<tik_bf16>(0);
  args.query_token_stride = 8 * 128;
  args.query_head_stride = 128;
  args.query_offsets = entry == Entry::decode ? nullptr : address<int32_t>(1);
  args.kv_lengths = entry == Entry::full ? nullptr : address<int32_t>(2);
  args.out = address<tik_bf16>(3);
  args.out_token_stride = 8 * 128;
  args.out_head_stride = 128;
  args.lse = address<float>(4);
  args.kv.layout = entry == Entry::full ? TIK_KV_PACKED : paged ? TIK_KV_PAGED : TIK_KV_CONTIGUOUS;
  args.kv.keys = address<tik_bf16>(5);
  args.kv.values = address<tik_bf16>(6);
  args.kv.token_stride = 2 * 128;
  args.kv.head_stride = 128;
  args.kv.sequence_stride = 100 * 2 * 128;
  if (paged) {
    args.kv.page_size = 16;
    args.kv.page_stride = 16 * 2 * 128;
    args.kv.page_table = address<int32_t>(7);
    args.kv.page_table_stride = 7;
    args.kv.page_count = 28;
  }
  args.workspace = address<char>(8);
  args.workspace_bytes = needed_workspace;
  return args;
}

TEST(ValidateAttention, AcceptsGoodRequestsOfEveryEntryAndLayout) {
  for (Entry const entry : {Entry::full, Entry::extend, Entry::decode}) {
    for (bool const paged : {false, true}) {
      if (entry == Entry::full && paged) continue;
      auto const args = good_request(entry, paged);
      auto const refusal = validate_args(entry, &args, workspace);
      EXPECT_FALSE(refusal) << function_name(entry) << ": " << refusal->sentence;
    }
  }
}

TEST(ValidateAttention, AcceptsEveryRatioUpToSixteen) {
  for (int ratio = 1; ratio <= largest_ratio; ++ratio) EXPECT_FALSE(validate_shape({3 * ratio, 3, 64, 0.125f})) << ratio;
}

TEST(ValidateAttention, AcceptsEveryPageSize) {
  for (int page_size = 1; page_size <= largest_page_size; ++page_size) {
    auto args = good_request(Entry::decode, true);
    args.kv.page_size = page_size;
    args.kv.page_table_stride = (args.limits.kv_length + page_size - 1) / page_size;
    EXPECT_FALSE(validate_args(Entry::decode, &args, workspace)) << page_size;
    args.kv.page_table_stride -= 1;
    EXPECT_TRUE(validate_args(Entry::decode, &args, workspace)) << page_size;
  }
}

TEST(ValidateAttention, AcceptsRowsWithHeadsFirst) {
  auto args = good_request(Entry::full, false);
  args.out_token_stride = 128;
  args.out_head_stride = 60 * 128;
  EXPECT_FALSE(validate_args(Entry::full, &args, workspace));
  args.out_head_stride = 59 * 128; // the last row of a head would be the first of the next
  EXPECT_TRUE(validate_args(Entry::full, &args, workspace));
}

TEST(ValidateAttention, AcceptsACallWithoutLogSumExp) {
  auto args = good_request(Entry::decode, false);
  args.lse = nullptr;
  EXPECT_FALSE(validate_args(Entry::decode, &args, workspace));
}

TEST(ValidateAttention, RefusesEveryContradictionWithASentenceThatNamesIt) {
  for (RefusalCase const& c : refusal_cases()) {
    auto args = good_request(c.entry, c.paged);
    c.change(args);
    auto const refusal = validate_args(c.entry, &args, workspace);
    ASSERT_TRUE(refusal) << c.title;
    EXPECT_EQ(refusal->status, c.status) << c.title;
    EXPECT_NE(refusal->sentence.find(c.names), std::string::npos) << c.title << ": " << refusal->sentence;
    EXPECT_EQ(refusal->sentence.back(), '.') << refusal->sentence;
  }
}

TEST(ValidateAttention, RefusesNullArguments) {
  auto const refusal = validate_args(Entry::full, nullptr, workspace);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, TIK_INVALID_ARGUMENT);
}

TEST(ValidateAttention, NamesTheValueAndTheRemedy) {
  auto args = good_request(Entry::decode, false);
  args.kv.token_stride = 260;
  auto const refusal = validate_args(Entry::decode, &args, workspace);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->sentence, "kv.token_stride is 260, but must be a multiple of 8 elements (16 bytes): pad the rows.");
}

TEST(ValidateAttention, RefusesAWorkspaceThatIsAbsentSmallOrUnaligned) {
  auto args = good_request(Entry::decode, false);
  args.workspace_bytes = needed_workspace - 1;
  EXPECT_EQ(validate_args(Entry::decode, &args, workspace)->status, TIK_WORKSPACE_TOO_SMALL);
  args.workspace_bytes = needed_workspace;
  args.workspace = static_cast<char*>(args.workspace) + 128;
  EXPECT_EQ(validate_args(Entry::decode, &args, workspace)->status, TIK_INVALID_ARGUMENT);
  args.workspace = nullptr;
  EXPECT_EQ(validate_args(Entry::decode, &args, workspace)->status, TIK_WORKSPACE_TOO_SMALL);
  EXPECT_FALSE(validate_args(Entry::decode, &args, no_workspace));
}

} // namespace
} // namespace tik::attention
