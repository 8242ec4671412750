// The sizes of workspaces.
#include "operators/language_model_head/workspace.h"

#include <gtest/gtest.h>

namespace tik::operators::language_model_head {
namespace {

TEST(HeadWorkspace, OfMoreTokensSufficesForFewer) {
  for (int const vocabulary : {8, 4104, 32000, 151936}) {
    std::int64_t forward = 0, backward = 0, softmax = 0;
    for (int tokens = 1; tokens <= 9000; tokens += tokens < 600 ? 1 : 61) {
      EXPECT_LE(forward, forward_regions(tokens, vocabulary).bytes) << tokens << " tokens, " << vocabulary;
      EXPECT_LE(backward, backward_regions(tokens, 64, vocabulary).bytes) << tokens << " tokens, " << vocabulary;
      EXPECT_LE(softmax, softmax_regions(tokens, vocabulary).bytes) << tokens << " tokens, " << vocabulary;
      forward = forward_regions(tokens, vocabulary).bytes;
      backward = backward_regions(tokens, 64, vocabulary).bytes;
      softmax = softmax_regions(tokens, vocabulary).bytes;
    }
  }
}

TEST(HeadWorkspace, HoldsEveryChunkOfLogitsAndNoMoreThanItsBound) {
  for (int const tokens : {1, 2, 127, 128, 129, 300, 4096, 9000}) {
    Chunk const chunk = chunk_of(tokens, 151936);
    ForwardRegions const regions = forward_regions(tokens, 151936);
    EXPECT_GE(regions.softmax - regions.logits, std::int64_t{chunk.tokens} * chunk.columns * 4) << tokens;
    EXPECT_LE(regions.softmax - regions.logits, 64 << 20) << tokens;
  }
}

} // namespace
} // namespace tik::operators::language_model_head
