// What the CPU library answers to a request against the contract: the status, a sentence that names the argument, no output.
#include <gtest/gtest.h>

#include "tests/operators/attention/calls.h"
#include "tests/operators/attention/refusal_cases.h"

namespace tik::attention::testing {
namespace {

constexpr Heads heads{8, 2, 64};

// Three sequences of 5, 0 and 7 query tokens, each at the end of a cache of 20, 9 and 30 keys.
class Request {
 public:
  Request(Entry entry, bool paged) : entry_(entry) {
    for (int b = 0; b < 3; ++b) {
      auto const trajectory = random_trajectory(heads, 30, 40 + b);
      while (cache(paged).length(b) < lengths[b]) cache(paged).append(b, trajectory);
    }
    for (int row = 0; row < rows_.rows; ++row) rows_.put(row, random_trajectory(heads, 1, 50 + row), 0);
    bool const decode = entry == Entry::decode;
    args = rows_.args(3, decode ? tik_attention_limits{4, 4, 1, 30} : tik_attention_limits{4, rows_.rows, 14, 30});
    args.kv = cache(paged).view();
    if (entry == Entry::full) {
      args.kv.layout = TIK_KV_PACKED;
    } else {
      args.kv_lengths = lengths;
    }
    if (!decode) args.query_offsets = offsets;
  }

  tik_status call(Library const& library) const {
    if (entry_ == Entry::full) return library.full(&args);
    return entry_ == Entry::extend ? library.extend(&args) : library.decode(&args);
  }
  bool untouched() const { return rows_.untouched(0, rows_.rows); }

  int32_t offsets[4] = {1, 6, 6, 13};
  int32_t lengths[3] = {20, 9, 30};
  tik_attention_args args{};

 private:
  Cache& cache(bool paged) { return paged ? paged_ : contiguous_; }

  Entry entry_;
  Cache contiguous_{heads, 3, 30, 0, 1}, paged_{heads, 3, 30, 8, 1};
  CallRows rows_{heads, 14};
};

Library const& root() {
  static Library const library = load_library("root");
  return library;
}

void expect_refusal(Request const& request, tik_status status, std::string const& names, std::string const& title) {
  EXPECT_EQ(request.call(root()), status) << title;
  EXPECT_NE(std::string(root().last_error()).find(names), std::string::npos) << title << ": " << root().last_error();
  EXPECT_TRUE(request.untouched()) << title;
}

TEST(CpuRefusals, GoodRequestsAreAnswered) {
  for (Entry const entry : {Entry::full, Entry::extend, Entry::decode}) {
    for (bool const paged : {false, true}) {
      if (entry == Entry::full && paged) continue;
      Request const request(entry, paged);
      EXPECT_EQ(request.call(root()), TIK_OK) << root().last_error();
      EXPECT_FALSE(request.untouched());
    }
  }
}

TEST(CpuRefusals, EveryContradictionOfTheContractIsNamed) {
  for (auto const& c : refusal_cases()) {
    Request request(c.entry, c.paged);
    c.change(request.args);
    expect_refusal(request, c.status, c.names, c.title);
  }
}

TEST(CpuRefusals, NoArgumentsAreRefused) {
  EXPECT_EQ(root().decode(nullptr), TIK_INVALID_ARGUMENT);
  EXPECT_NE(std::string(root().last_error()).find("args is NULL"), std::string::npos);
}

// On a CPU lengths are readable, so a wrong one is a sentence and not a read out of bounds.
TEST(CpuRefusals, LengthsAndOffsetsOutOfTheirLimitsAreNamed) {
  struct LengthCase {
    char const* title;
    Entry entry;
    void (*change)(Request&);
    char const* names;
  };
  LengthCase const cases[] = {
      {"negative first offset", Entry::full, [](Request& r) { r.offsets[0] = -1; }, "query_offsets[0]"},
      {"offsets that fall", Entry::full, [](Request& r) { r.offsets[2] = 5; }, "query_offsets[1]"},
      {"a sequence above limits.query_length", Entry::extend, [](Request& r) { r.args.limits.query_length = 6; },
       "query_offsets[2]"},
      {"offsets above limits.query_tokens", Entry::full, [](Request& r) { r.offsets[3] = 15; }, "query_offsets[3]"},
      {"offsets that overflow", Entry::full, [](Request& r) { r.offsets[1] = INT32_MAX; }, "query_offsets[0]"},
      {"fewer keys than query tokens", Entry::extend, [](Request& r) { r.lengths[0] = 4; }, "kv_lengths[0]"},
      {"a negative length", Entry::decode, [](Request& r) { r.lengths[1] = -1; }, "kv_lengths[1]"},
      {"a length above limits.kv_length", Entry::decode, [](Request& r) { r.lengths[2] = 31; }, "kv_lengths[2]"},
  };
  for (auto const& c : cases) {
    Request request(c.entry, false);
    c.change(request);
    expect_refusal(request, TIK_INVALID_ARGUMENT, c.names, c.title);
  }
}

TEST(CpuRefusals, APageOutsideThePoolIsNamed) {
  for (int32_t const page : {-1, INT32_MAX}) {
    Request request(Entry::decode, true);
    std::vector<int32_t> table(request.args.kv.page_table, request.args.kv.page_table + 3 * request.args.kv.page_table_stride);
    table[request.args.kv.page_table_stride + 1] = page; // sequence 1, its last page
    request.args.kv.page_table = table.data();
    expect_refusal(request, TIK_INVALID_ARGUMENT, "kv.page_table[1, 1]", "page " + std::to_string(page));
  }
}

TEST(CpuRefusals, WorkspaceIsNoneOrNegativeForABadShape) {
  auto shape = shape_of(heads);
  tik_attention_limits const limits{4, 14, 14, 30};
  EXPECT_EQ(root().workspace_bytes(&shape, &limits), 0);
  EXPECT_LT(root().workspace_bytes(nullptr, &limits), 0);
  shape.head_dim = 65;
  EXPECT_LT(root().workspace_bytes(&shape, &limits), 0);
  EXPECT_NE(std::string(root().last_error()).find("shape.head_dim is 65"), std::string::npos);
  EXPECT_EQ(root().abi_version(), TIK_ATTENTION_ABI_VERSION);
}

} // namespace
} // namespace tik::attention::testing
