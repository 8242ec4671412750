#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

std::vector<Piece> make_pieces(Entry entry, int batch, int longest, Random& random) {
  std::vector<Piece> pieces;
  for (int i = 0; i < batch; ++i) {
    int const length = random.between(1, longest);
    int const tokens = entry == Entry::decode ? 1 : random.between(1, length);
    Distribution const distribution = any_distribution(random);
    pieces.push_back({{random.next(), distribution}, length - tokens, length});
  }
  return pieces;
}

void check_layout(Suite& suite, Entry entry, tik_attention_shape const& shape, Layout const& layout, int longest,
                  Random& random) {
  auto const pieces = make_pieces(entry, 3, longest, random);
  int const batch = static_cast<int>(pieces.size());
  std::string const label = describe(shape) + " " + attention::function_name(entry) + " " + describe(layout);
  auto const contiguous = run(suite, {entry, shape, limits_of(pieces), batch}, pieces, label);
  auto const other = run(suite, {entry, shape, limits_of(pieces), batch, layout}, pieces, label);
  Rows expected, actual;
  for (int i = 0; i < batch; ++i) {
    expected.append(contiguous[i]);
    actual.append(other[i]);
  }
  suite.report.compare("pages", label, expected, 0, actual, 0, expected.tokens);
}

} // namespace

void check_pages(Suite& suite) {
  Random random(suite.seed + 6);
  int const longest = suite.tiny ? 40 : 1500;
  for (int page_size = 1; page_size <= 256; page_size += suite.tiny ? 101 : suite.quick ? 15 : 1) {
    for (Entry const entry : {Entry::decode, Entry::extend}) {
      auto const shape = (page_size + (entry == Entry::decode)) % 2 == 0 ? make_shape(8, 2, 128) : make_shape(12, 2, 64);
      Layout const layout{page_size, random.next(), page_size % 3 == 0, page_size % 5 == 0 ? 8 * random.between(1, 4) : 0};
      check_layout(suite, entry, shape, layout, longest, random);
    }
  }
  // Other strides of contiguous caches.
  for (int gap = 0; gap <= (suite.tiny ? 8 : 64); gap += 8) {
    for (Entry const entry : {Entry::decode, Entry::extend}) {
      Layout const layout{.heads_first = gap % 16 == 0, .gap = gap};
      check_layout(suite, entry, make_shape(8, 2, 128), layout, longest, random);
    }
  }
  // Strides of packed rows.
  for (int gap = 0; gap <= (suite.tiny ? 8 : 64); gap += 8) {
    std::vector<Piece> pieces;
    for (int i = 0; i < 3; ++i) pieces.push_back({{random.next()}, 0, random.between(1, longest / 3)});
    auto const shape = gap % 16 == 0 ? make_shape(8, 2, 128) : make_shape(12, 2, 64);
    Layout const layout{.heads_first = gap % 3 == 0, .gap = gap};
    std::string const label = describe(shape) + " full " + describe(layout);
    auto const plain = run_full(suite, shape, pieces, label);
    auto const other = run(suite, {Entry::full, shape, limits_of(pieces), 3, layout}, pieces, label);
    for (int i = 0; i < 3; ++i) suite.report.compare("pages", label, plain[i], 0, other[i], 0, pieces[i].end);
  }
}

} // namespace tik::gpu_suite
