#include <algorithm>

#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

// Puts `piece` at a random place among `count` neighbours and returns where.
template <typename MakeNeighbour>
int surround(std::vector<Piece>& pieces, Piece const& piece, int count, Random& random, MakeNeighbour make_neighbour) {
  int const place = random.between(0, count);
  for (int i = 0; i <= count; ++i) pieces.push_back(i == place ? piece : make_neighbour());
  return place;
}

Layout random_layout(Random& random) {
  return random.next() % 2 == 0 ? Layout{} : Layout{.page_size = random.between(1, 128), .map_seed = random.next()};
}

std::string label_of(tik_attention_shape const& shape, char const* entry, Layout const& layout, int neighbours, int length) {
  return describe(shape) + " " + entry + " " + describe(layout) + " " + std::to_string(neighbours) + " neighbours, length " +
         std::to_string(length);
}

void check_decode(Suite& suite, tik_attention_shape const& shape, int neighbours, int longest, Random& random) {
  int const length = random.between(1, longest);
  Piece const piece{{random.next()}, length - 1, length};
  std::vector<Piece> pieces;
  int const place = surround(pieces, piece, neighbours, random, [&] {
    int const other = random.between(1, longest);
    return Piece{{random.next()}, other - 1, other};
  });
  Layout const layout = random_layout(random);
  std::string const label = label_of(shape, "decode", layout, neighbours, length);
  Rows const alone = run(suite, {Entry::decode, shape, limits_of({piece}), 1}, {piece}, label)[0];
  auto const batched = run(suite, {Entry::decode, shape, limits_of(pieces), neighbours + 1, layout}, pieces, label);
  suite.report.compare("neighbours", label, alone, 0, batched[place], 0, 1);
}

void check_full(Suite& suite, tik_attention_shape const& shape, int neighbours, int longest, Random& random) {
  Piece const piece{{random.next()}, 0, random.between(1, longest)};
  std::vector<Piece> pieces;
  int const place = surround(pieces, piece, neighbours, random, [&] {
    return Piece{{random.next()}, 0, random.between(1, longest)};
  });
  std::string const label = label_of(shape, "full", {}, neighbours, piece.end);
  Rows const alone = run_full(suite, shape, {piece}, label)[0];
  auto const packed = run_full(suite, shape, pieces, label);
  suite.report.compare("neighbours", label, alone, 0, packed[place], 0, piece.end);
}

// A decode step of one sequence in the same extend call as chunks of other prompts.
void check_mixed(Suite& suite, tik_attention_shape const& shape, int neighbours, int longest, Random& random) {
  int const length = random.between(1, longest);
  Piece const piece{{random.next()}, length - 1, length};
  std::vector<Piece> pieces;
  int const place = surround(pieces, piece, neighbours, random, [&] {
    int const other = random.between(1, longest);
    return Piece{{random.next()}, random.between(0, other), other};
  });
  Layout const layout = random_layout(random);
  std::string const label = label_of(shape, "extend beside prefill", layout, neighbours, length);
  Rows const alone = run(suite, {Entry::decode, shape, limits_of({piece}), 1}, {piece}, label)[0];
  auto const mixed = run(suite, {Entry::extend, shape, limits_of(pieces), neighbours + 1, layout}, pieces, label);
  suite.report.compare("neighbours", label, alone, 0, mixed[place], 0, 1);
}

} // namespace

void check_neighbours(Suite& suite) {
  Random random(suite.seed + 3);
  int const most = suite.tiny ? 3 : 64;
  int const longest = suite.tiny ? 40 : 1400;
  int const step = suite.quick ? 9 : 1;
  for (int neighbours = 1; neighbours <= most; neighbours += step) {
    for (auto const& shape : {make_shape(32, 8, 128), make_shape(12, 2, 64)}) {
      check_decode(suite, shape, neighbours, longest, random);
      check_full(suite, shape, neighbours, neighbours > 16 ? longest / 4 : longest, random);
      check_mixed(suite, shape, neighbours, neighbours > 16 ? longest / 4 : longest, random);
    }
  }
}

void check_packed_order(Suite& suite) {
  Random random(suite.seed + 4);
  int const orders = suite.scaled(60, 1);
  for (auto const& shape : {make_shape(8, 2, 128), make_shape(14, 2, 64)}) {
    std::vector<Piece> pieces;
    for (int i = 0; i < 12; ++i) pieces.push_back({{random.next()}, 0, random.between(1, suite.tiny ? 200 : 600)});
    if (suite.tiny) pieces[3].end = 1160; // sanitizers see the kernel of longer sequences, too, and a fold
    auto const first = run_full(suite, shape, pieces, describe(shape));
    std::vector<int> order(pieces.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    for (int round = 0; round < orders; ++round) {
      for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.between(0, static_cast<int>(i))]);
      std::vector<Piece> permuted;
      std::string label = describe(shape) + " order";
      for (int const i : order) {
        permuted.push_back(pieces[i]);
        label += " " + std::to_string(i);
      }
      auto const rows = run_full(suite, shape, permuted, label);
      // One case an order: all sequences of the call.
      Rows expected, actual;
      for (std::size_t i = 0; i < order.size(); ++i) {
        expected.append(first[order[i]]);
        actual.append(rows[i]);
      }
      suite.report.compare("packed-order", label, expected, 0, actual, 0, expected.tokens);
    }
  }
}

void check_padding(Suite& suite) {
  Random random(suite.seed + 5);
  int const longest = suite.tiny ? 40 : 1500;
  for (int present = 1; present <= (suite.tiny ? 3 : 31); present += suite.quick ? 5 : 1) {
    auto const shape = present % 2 == 0 ? make_shape(8, 2, 128) : make_shape(10, 2, 64);
    for (Entry const entry : {Entry::decode, Entry::extend}) {
      int const batch = suite.tiny ? 4 : 32;
      std::vector<Piece> pieces;
      for (int i = 0; i < present; ++i) {
        int const length = random.between(1, longest);
        int const tokens = entry == Entry::decode ? 1 : random.between(1, std::min(length, 5));
        pieces.push_back({{random.next()}, length - tokens, length});
      }
      Layout const layout = random_layout(random);
      std::string const label = label_of(shape, attention::function_name(entry), layout, present - 1, longest);
      auto const exact = run(suite, {entry, shape, limits_of(pieces), present, layout}, pieces, label);
      // The same sequences in the first rows of a larger batch under larger limits; the rest is empty.
      std::vector<Piece> padded = pieces;
      padded.resize(batch, {{random.next()}, 0, 0});
      tik_attention_limits const limits{batch + 8, 5 * batch + 40, entry == Entry::decode ? 1 : 5, longest + 300};
      auto const rows = run(suite, {entry, shape, limits, batch, layout}, padded, label + " padded");
      Rows expected, actual;
      for (int i = 0; i < present; ++i) {
        expected.append(exact[i]);
        actual.append(rows[i]);
      }
      suite.report.compare("padding", label, expected, 0, actual, 0, expected.tokens);
      if (entry != Entry::decode) continue;
      Rows zeros, empty;
      zeros.append({1, shape.query_heads, shape.head_dim,
                    std::vector<uint16_t>(static_cast<std::size_t>(shape.query_heads) * shape.head_dim, 0),
                    std::vector<uint32_t>(shape.query_heads, 0xff800000)}); // -infinity
      empty = rows[random.between(present, batch - 1)];
      suite.report.compare("padding", label + ": empty row", zeros, 0, empty, 0, 1);
    }
  }
}

} // namespace tik::gpu_suite
