#include <algorithm>

#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

// Extends a sequence chunk by chunk over one growing cache.
Rows prefill(Suite& suite, tik_attention_shape const& shape, Layout const& layout, Source source, std::vector<int> const& cuts,
             int longest_chunk, std::string const& label) {
  int const length = cuts.back();
  Call call({Entry::extend, shape, {1, longest_chunk, longest_chunk, length}, 1, layout, suite.kernel});
  Rows rows;
  std::vector<std::string> problems;
  int begin = 0;
  for (int const end : cuts) {
    announce(suite, label + " to " + std::to_string(end));
    call.load({{source, begin, end}}, begin == 0 ? Call::Fill::fresh : Call::Fill::append);
    if (call.launch() != TIK_OK) throw std::runtime_error(tik_attention_last_error());
    rows.append(call.results(problems)[0]);
    begin = end;
  }
  suite.report.untouched(label, problems);
  return rows;
}

void check_cuts(Suite& suite, tik_attention_shape const& shape, Layout const& layout, Source source, int length,
                int longest_chunk, Random& random) {
  std::vector<int> cuts;
  for (int end = 0; end < length;) cuts.push_back(end = std::min(length, end + random.between(1, longest_chunk)));
  std::string label = describe(shape) + " " + describe(layout) + " " + name(source.distribution) + " cuts";
  for (std::size_t i = 0; i < std::min<std::size_t>(cuts.size(), 8); ++i) label += " " + std::to_string(cuts[i]);
  if (cuts.size() > 8) label += " ... " + std::to_string(length);
  Rows const full = run_full(suite, shape, {{source, 0, length}}, label)[0];
  Rows const chunks = prefill(suite, shape, layout, source, cuts, longest_chunk, label);
  suite.report.compare("chunks", label, full, 0, chunks, 0, length);
}

} // namespace

void check_chunks(Suite& suite) {
  Random random(suite.seed + 2);
  int const cases = suite.scaled(300, 2);
  for (int i = 0; i < cases; ++i) {
    int const ratio = ratios[random.between(0, 8)];
    int const kv_heads = random.between(1, 3);
    auto const shape = make_shape(ratio * kv_heads, kv_heads, head_dims[random.next() % 2]);
    Layout layout;
    if (random.next() % 2 == 0) layout.page_size = random.between(1, 256);
    layout.heads_first = random.next() % 4 == 0;
    layout.gap = random.next() % 4 == 0 ? 8 : 0;
    // Chunks of a few tokens take the decode kernel, long ones the full kernel.
    int const longest_chunk = suite.tiny ? 9 : i % 3 == 0 ? random.between(1, 8) : random.between(20, 700);
    int const length = suite.tiny ? 40 : longest_chunk <= 8 ? random.between(30, 300) : random.between(longest_chunk, 2300);
    Distribution const distribution = any_distribution(random);
    check_cuts(suite, shape, layout, {random.next(), distribution}, length, longest_chunk, random);
  }
}

} // namespace tik::gpu_suite
