#include <algorithm>
#include <array>

#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

// The kernels, besides the simple one, that may serve a call.
std::vector<Kernel> fast_kernels(Entry entry, tik_attention_shape const& shape, tik_attention_limits const& limits) {
  std::vector<Kernel> kernels;
  if (entry != Entry::decode) kernels.push_back(Kernel::full);
  Kernel const selected = attention::sm90::select_kernel(entry, shape, limits);
  if (selected == Kernel::decode) kernels.push_back(Kernel::decode);
  return kernels;
}

char const* name(Kernel kernel) { return kernel == Kernel::simple ? "simple" : kernel == Kernel::full ? "full" : "decode"; }

struct Sizes {
  int batch;
  int longest_query;
  int longest;
};

Sizes random_sizes(Suite const& suite, Entry entry, int round, Random& random) {
  if (suite.tiny) return {2, entry == Entry::decode ? 1 : 12, 40};
  if (entry == Entry::decode) return {random.between(1, 24), 1, round % 4 == 0 ? 5000 : 1200};
  if (entry == Entry::extend && round % 2 == 0) return {random.between(1, 8), random.between(1, 8), 2500};
  return {random.between(1, 4), 1500, 1500};
}

} // namespace

void check_kernels(Suite& suite) {
  Random random(suite.seed + 9);
  for (int round = 0; round < suite.scaled(400, 6); ++round) {
    Entry const entry = std::array{Entry::full, Entry::extend, Entry::decode}[round % 3];
    int const ratio = ratios[random.between(0, 8)];
    int const kv_heads = random.between(1, suite.tiny ? 2 : 4);
    auto const shape = make_shape(ratio * kv_heads, kv_heads, head_dims[random.next() % 2]);
    Sizes const sizes = random_sizes(suite, entry, round / 3, random);
    std::vector<Piece> pieces;
    for (int i = 0; i < sizes.batch; ++i) {
      int const length = random.between(1, sizes.longest);
      int const tokens = entry == Entry::full ? length : random.between(1, std::min(length, sizes.longest_query));
      pieces.push_back({{random.next(), any_distribution(random)}, length - tokens, length});
    }
    Layout layout{.heads_first = random.next() % 3 == 0, .gap = random.next() % 3 == 0 ? 16 : 0};
    if (entry != Entry::full && random.next() % 2 == 0) {
      layout.page_size = random.next() % 2 == 0 ? 16 << random.between(0, 4) : random.between(1, 256);
    }
    CallSetup setup{entry, shape, limits_of(pieces), sizes.batch, layout, Kernel::simple};
    std::string const label = describe(shape) + " " + attention::function_name(entry) + " " + describe(layout) + " batch " +
                              std::to_string(sizes.batch) + " queries up to " + std::to_string(setup.limits.query_length) +
                              " keys up to " + std::to_string(setup.limits.kv_length);
    Rows expected;
    for (Rows const& rows : run(suite, setup, pieces, label)) expected.append(rows);
    for (Kernel const kernel : fast_kernels(entry, shape, setup.limits)) {
      setup.kernel = kernel;
      Rows actual;
      for (Rows const& rows : run(suite, setup, pieces, label + " " + name(kernel))) actual.append(rows);
      suite.report.compare("kernels", label + ", " + name(kernel) + " against simple", expected, 0, actual, 0, expected.tokens);
    }
  }
}

} // namespace tik::gpu_suite
