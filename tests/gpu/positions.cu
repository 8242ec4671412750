#include <algorithm>

#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

// Decodes every position of some sequences together, one launch a position. A sequence that is over pads the batch.
std::vector<Rows> roll_out(Suite& suite, tik_attention_shape const& shape, Layout const& layout,
                           std::vector<Piece> const& sequences, std::string const& label) {
  int const batch = static_cast<int>(sequences.size());
  int longest = 0;
  for (Piece const& sequence : sequences) longest = std::max(longest, sequence.end);
  Call call({Entry::decode, shape, {batch, batch, 1, longest}, batch, layout, suite.kernel});
  std::vector<Rows> rows(sequences.size());
  std::vector<std::string> problems;
  for (int position = 0; position < longest; ++position) {
    announce(suite, label + " decode position " + std::to_string(position));
    std::vector<Piece> step;
    for (Piece const& sequence : sequences) {
      bool const over = position >= sequence.end;
      step.push_back({sequence.source, over ? 0 : position, over ? 0 : position + 1});
    }
    call.load(step, position == 0 ? Call::Fill::fresh : Call::Fill::append);
    if (call.launch() != TIK_OK) throw std::runtime_error(tik_attention_last_error());
    std::vector<Rows> const outputs = call.results(problems);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (position < sequences[i].end) rows[i].append(outputs[i]);
    }
  }
  suite.report.untouched(label, problems);
  return rows;
}

void check_shape(Suite& suite, tik_attention_shape const& shape, Layout const& layout, Distribution distribution,
                 std::vector<int> const& lengths, uint64_t seed) {
  std::vector<Piece> sequences;
  for (std::size_t i = 0; i < lengths.size(); ++i) sequences.push_back({{mix(seed + i), distribution}, 0, lengths[i]});
  std::string const label = describe(shape) + " " + describe(layout) + " " + name(distribution);
  std::vector<Rows> const full = run_full(suite, shape, sequences, label);
  std::vector<Rows> const decode = roll_out(suite, shape, layout, sequences, label);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    suite.report.compare("positions", label + " length " + std::to_string(lengths[i]), full[i], 0, decode[i], 0, lengths[i]);
  }
}

// Long sequences: decode at the edges of tiles and parts and at random positions, each a sequence on the same pages.
void check_long(Suite& suite, tik_attention_shape const& shape, Distribution distribution, int length, Random& random) {
  Source const source{random.next(), distribution};
  std::string const label = describe(shape) + " " + name(distribution) + " length " + std::to_string(length);
  Rows const full = run_full(suite, shape, {{source, 0, length}}, label)[0];
  std::vector<int> positions{length - 1};
  for (int edge = 256; edge < length; edge += 256)
    positions.insert(positions.end(), {edge - 1, edge}); // parts are multiples of 256
  for (int i = 0; i < 64; ++i) positions.push_back(random.between(0, length - 1));
  std::vector<Piece> pieces;
  for (int const position : positions) pieces.push_back({source, position, position + 1});
  Layout const layout{.page_size = 64, .share = true};
  auto const rows =
      run(suite, {Entry::decode, shape, limits_of(pieces), static_cast<int>(pieces.size()), layout}, pieces, label);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    suite.report.compare("positions", label + " position " + std::to_string(positions[i]), full, positions[i], rows[i], 0, 1);
  }
}

} // namespace

void check_positions(Suite& suite) {
  Random random(suite.seed);
  if (suite.tiny) {
    check_shape(suite, make_shape(10, 2, 128), {.page_size = 16}, Distribution::normal, {19, 5}, random.next());
    check_shape(suite, make_shape(4, 1, 64), {}, Distribution::normal, {7, 3, 1}, random.next());
    return;
  }
  // Short sequences for every shape, layout and content; then some that cross parts of 1024 keys.
  for (int const head_dim : head_dims) {
    for (int const ratio : ratios) {
      auto const shape = make_shape(2 * ratio, 2, head_dim);
      for (Distribution const distribution : all_distributions) {
        if (suite.quick && distribution != Distribution::normal) continue;
        Layout const layout = random.next() % 2 == 0 ? Layout{} : Layout{.page_size = random.between(1, 64)};
        check_shape(suite, shape, layout, distribution, {random.between(129, 280), 128, random.between(1, 127), 1},
                    random.next());
      }
    }
  }
  check_shape(suite, make_shape(32, 8, 128), {.page_size = 16}, Distribution::normal, {1300, 1025, 1024, 700}, random.next());
  if (suite.quick) return;
  check_shape(suite, make_shape(32, 8, 128), {}, Distribution::binades, {2180, 1023, 2049}, random.next());
  check_shape(suite, make_shape(12, 2, 128), {.page_size = 64}, Distribution::normal, {1200, 1153, 900}, random.next());
  check_shape(suite, make_shape(14, 2, 64), {.page_size = 48, .heads_first = true}, Distribution::large, {1100, 1026, 31},
              random.next());
  check_shape(suite, make_shape(16, 1, 128), {.heads_first = true}, Distribution::sparse, {1090, 1024}, random.next());
  check_long(suite, make_shape(32, 8, 128), Distribution::normal, 16384, random);
  check_long(suite, make_shape(12, 2, 128), Distribution::binades, 10007, random);
  check_long(suite, make_shape(64, 4, 128), Distribution::normal, 8192, random);
  check_long(suite, make_shape(14, 2, 64), Distribution::sparse, 12289, random);
}

} // namespace tik::gpu_suite
