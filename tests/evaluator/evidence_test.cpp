// What is read from a compiler's remarks and from a disassembly.
#include "src/evaluator/evidence.h"

#include <gtest/gtest.h>

#include "src/evaluator/remarks.h"
#include "src/evaluator/statistics.h"

namespace tik::evaluator {
namespace {

constexpr char compiler_output[] =
    "numerics.h:103:21: missed: couldn't vectorize loop\n"
    "numerics.h:105:90: missed: not vectorized: no vectype for stmt: _72 = tile;\n"
    " scalar_type: const tik_bf16\n"
    "numerics.h:80:21: optimized: loop vectorized using 32 byte vectors\n"
    "/usr/include/c++/12/cmath:12:3: missed: couldn't vectorize loop\n"
    "full.cpp:7:1: warning: unused variable\n"
    "numerics.h:80:21: missed: couldn't vectorize loop\n"
    "numerics.h:80:21: missed: not vectorized: control flow in loop.\n";

TEST(Remarks, TellLoopsFromTheRestOfTheLog) {
  RemarkReader reader(1000);
  reader.feed(compiler_output);
  reader.finish();
  EXPECT_EQ(reader.log(), "full.cpp:7:1: warning: unused variable\n");
  Json const summary = reader.summary();
  EXPECT_EQ(summary.at("vectorized"), 0);
  EXPECT_EQ(summary.at("missed"), 2);
  ASSERT_EQ(summary.at("loops").size(), 2U);
  Json const& sometimes = summary.at("loops")[0];
  EXPECT_EQ(sometimes.at("line"), 80);
  EXPECT_EQ(sometimes.at("vector_bytes"), 32);
  EXPECT_EQ(sometimes.at("reason"), "control flow in loop.");
  EXPECT_EQ(summary.at("loops")[1].at("reason"), "no vectype for stmt: _72 = tile;");
}

TEST(Remarks, DoNotDependOnHowTheOutputIsCutIntoPieces) {
  RemarkReader whole(1000);
  whole.feed(compiler_output);
  whole.finish();
  for (std::size_t size = 1; size < 50; ++size) {
    RemarkReader pieces(1000);
    std::string_view rest = compiler_output;
    while (!rest.empty()) {
      pieces.feed(rest.substr(0, size));
      rest.remove_prefix(std::min(size, rest.size()));
    }
    pieces.finish();
    EXPECT_EQ(pieces.log(), whole.log());
    EXPECT_EQ(pieces.summary(), whole.summary());
  }
}

TEST(Remarks, KeepTheBeginOfALongLog) {
  RemarkReader reader(100);
  for (int i = 0; i < 1000; ++i) reader.feed("a line of a log\n");
  reader.finish();
  EXPECT_LE(reader.log().size(), 100U);
  EXPECT_EQ(reader.log_total(), 16000U);
}

constexpr char disassembly[] =
    "0000000000001000 <tik_attention_full>:\n"
    "    1000:\tpush   %rbx\n"
    "    1001:\tcall   1100 <absorb<64>(float const*)>\n"
    "    1006:\tvaddss 0x8(%rdi),%xmm0,%xmm0\n"
    "    100b:\tret\n"
    "\n"
    "0000000000001100 <absorb<64>(float const*)>:\n"
    "    1100:\tvmovups (%rsi),%ymm1\n"
    "    1104:\tvfmadd231ps %ymm0,%ymm1,%ymm2\n"
    "    1109:\tvmulps %ymm0,%ymm1,%ymm2\n"
    "    110d:\tvmovups %ymm2,(%rdi)\n"
    "    1111:\tcall   900 <expf@plt>\n"
    "    1116:\tjne    1100 <absorb<64>(float const*)>\n"
    "    1118:\tret\n"
    "\n"
    "0000000000001200 <tik_attention_decode>:\n"
    "    1200:\tcmpl   $0x40,0x10(%rdi)\n"
    "    1204:\tvmulss %xmm0,%xmm1,%xmm2\n"
    "    1208:\tret\n";

TEST(Instructions, AreCountedByEntryPointThroughItsCalls) {
  Json const summary = summarize_instructions(disassembly, {"tik_attention_full", "tik_attention_decode"});
  Json const& full = summary.at("entry_points")[0];
  EXPECT_EQ(full.at("functions").size(), 2U);
  EXPECT_EQ(full.at("vector_bytes"), 32);
  EXPECT_EQ(full.at("external_calls").at("expf"), 1);
  Json const& classes = full.at("classes");
  EXPECT_EQ(classes.at("packed_float_fma"), 1);
  EXPECT_EQ(classes.at("packed_float_multiply"), 1);
  EXPECT_EQ(classes.at("scalar_float_add"), 1);
  EXPECT_EQ(classes.at("loads"), 2);
  EXPECT_EQ(classes.at("stores"), 1);
  EXPECT_EQ(classes.at("calls"), 2);
  EXPECT_EQ(classes.at("branches"), 1);
  Json const& decode = summary.at("entry_points")[1];
  EXPECT_EQ(decode.at("vector_bytes"), 0);
  EXPECT_EQ(decode.at("classes").at("scalar_float_multiply"), 1);
  EXPECT_EQ(decode.at("classes").at("loads"), 1);
}

TEST(Instructions, OfNonsenseAreNone) {
  Json const summary = summarize_instructions("no disassembly\n<>:\n : \n12:\t\n", {"tik_attention_full"});
  EXPECT_EQ(summary.at("total").at("instructions"), 0);
}

TEST(Statistics, MedianAndSpreadIgnoreOneWildValue) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(spread({10, 11, 12, 13, 1000}), 1);
  EXPECT_GT(median_uncertainty({10, 11, 12}), median_uncertainty({10, 11, 12, 10, 11, 12, 10, 11, 12, 10, 11, 12}));
}

} // namespace
} // namespace tik::evaluator
