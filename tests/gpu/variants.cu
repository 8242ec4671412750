#include <algorithm>

#include "operators/attention/sm90/decode_variant.h"
#include "operators/attention/sm90/numerics.cuh"
#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

std::string title(attention::sm90::DecodeVariant const& variant) {
  if (variant.splits > 0) return "one tile, " + std::to_string(variant.splits) + " splits";
  return "cluster " + std::to_string(variant.cluster) + " parts " + std::to_string(variant.parts) + " stages " +
         std::to_string(variant.stages);
}

// Sequences of every number of tiles and of parts that the longest leaves room for, and one that pads the batch.
std::vector<Piece> some_pieces(Entry entry, int longest, int batch, Random& random) {
  std::vector<Piece> pieces;
  for (int i = 0; i < batch; ++i) {
    int const end = i == 0 ? longest : random.between(1, longest);
    int const tokens = entry == Entry::decode ? 1 : random.between(1, std::min(end, 5));
    pieces.push_back({{random.next(), any_distribution(random)}, end - tokens, end});
  }
  if (entry == Entry::decode) pieces.back() = {{random.next()}, 0, 0};
  return pieces;
}

void check_shape(Suite& suite, Entry entry, tik_attention_shape const& shape, int longest, int page_size, Random& random) {
  char const* const kind = longest <= attention::sm90::part_keys ? "variants" : "folds";
  std::vector<Piece> const pieces = some_pieces(entry, longest, suite.tiny ? 2 : 7, random);
  CallSetup setup{entry, shape, limits_of(pieces), static_cast<int>(pieces.size()), {.page_size = page_size}, Kernel::simple};
  std::string const label = describe(shape) + " " + attention::function_name(entry) + " " + describe(setup.layout) +
                            " keys up to " + std::to_string(longest);
  Rows expected;
  for (Rows const& rows : run(suite, setup, pieces, label)) expected.append(rows);
  setup.kernel.reset();
  for (auto const& variant : attention::sm90::decode_variants(shape, setup.limits, entry == Entry::extend)) {
    setup.decode_variant = variant;
    Rows actual;
    for (Rows const& rows : run(suite, setup, pieces, label + ", " + title(variant))) actual.append(rows);
    suite.report.compare(kind, label + ", " + title(variant) + " against simple", expected, 0, actual, 0, expected.tokens);
  }
}

} // namespace

namespace {

void check_lengths(Suite& suite, std::vector<int> const& lengths, Random& random) {
  for (int const longest : lengths) {
    for (int const ratio : {4, 6, 16}) {
      for (int const head_dim : head_dims) {
        if (suite.tiny && head_dim * ratio != 128 * 4 && head_dim * ratio != 64 * 16) continue;
        for (Entry const entry : {Entry::decode, Entry::extend}) {
          auto const shape = make_shape(ratio * (suite.tiny ? 1 : 3), suite.tiny ? 1 : 3, head_dim);
          check_shape(suite, entry, shape, longest, 0, random);
          if (!suite.tiny || longest < 1024) check_shape(suite, entry, shape, longest, longest % 4 == 0 ? 24 : 16, random);
        }
      }
    }
  }
}

} // namespace

void check_variants(Suite& suite) {
  Random random(suite.seed + 13);
  check_lengths(suite, {90, 700}, random); // within one tile, within one part
}

void check_folds(Suite& suite) {
  Random random(suite.seed + 14);
  // As many parts as a cluster has, and more.
  check_lengths(suite, suite.tiny ? std::vector{1100} : std::vector{1100, 2030, 3500, 5500}, random);
}

} // namespace tik::gpu_suite
