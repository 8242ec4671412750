#include "operators/check/cache_cases.h"

#include <algorithm>
#include <cstdint>

#include "operators/check/source.h"

namespace tik::operators::check {
namespace {

struct CacheCase {
  CacheLayout layout;
  int tokens, batch, length;
  bool decode;
  std::uint64_t seed;
};

std::string describe(CacheCase const& c) {
  return std::to_string(c.tokens) + (c.decode ? " sequences, " : " tokens, ") + check::describe(c.layout);
}

std::vector<CacheCase> make_cases(CaseOptions const& options) {
  std::vector<int> counts{1, 3};
  if (options.extent == Extent::brief) counts = {1, 2, 7, 16, 33, 64, 353};
  if (options.extent == Extent::thorough) {
    counts = {24, 31, 32, 33, 64, 65, 127, 128, 129, 255, 256, 300, 352, 353, 600, 1056, 1057, 1877, 1878, 4096, 4097};
    for (int count = 1; count <= 17; ++count) counts.push_back(count);
  }
  std::vector<CacheLayout> layouts{{0}, {16}, {1}};
  if (options.extent != Extent::tiny) {
    for (CacheLayout const& more :
         {CacheLayout{64, true}, CacheLayout{256, false, 8}, CacheLayout{0, true}, CacheLayout{7, false, 64}})
      layouts.push_back(more);
  }
  std::vector<CacheCase> cases;
  Random random(options.seed + 100);
  for (int const count : counts) {
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      bool const left_out = count > 1000 ? i > 1 : count > 40 && i % 2 == 1;
      if (left_out && options.extent == Extent::thorough) continue;
      bool const decode = (count + i) % 2 == 0;
      int const batch = decode ? count : random.between((count + table_positions - 1) / table_positions, 5);
      int const shortest = (count + batch - 1) / batch;
      int const length = decode ? random.between(1, 130) : random.between(shortest, std::min(2 * count + 60, table_positions));
      cases.push_back({layouts[i], count, batch, length, decode, random.next()});
    }
  }
  return cases;
}

// Where two images differ; empty when they do not.
std::string difference(CacheImage const& expected, CacheImage const& actual) {
  auto const count = [](std::vector<unsigned char> const& a, std::vector<unsigned char> const& b,
                        char const* name) -> std::string {
    if (a == b) return "";
    std::size_t differing = 0, first = a.size();
    for (std::size_t i = 0; i + 1 < a.size(); i += 2) {
      if (a[i] == b[i] && a[i + 1] == b[i + 1]) continue;
      if (differing++ == 0) first = i / 2;
    }
    return std::string(name) + ": " + std::to_string(differing) + " elements differ, the first at offset " +
           std::to_string(first) + "; ";
  };
  return count(expected.keys, actual.keys, "cached keys") + count(expected.values, actual.values, "cached values") +
         count(expected.queries, actual.queries, "queries");
}

} // namespace

void check_cache_writes(Device& device, CacheShape const& shape, CaseOptions const& options, Results& results) {
  constexpr char const* names[] = {"kv_write", "qk_norm_rope_kv_write"};
  if (!options.wants(names[0]) && !options.wants(names[1])) return;
  std::vector<CacheCase> const cases = make_cases(options);
  HostDevice host;
  std::vector<CacheImage> expected;
  for (CacheCase const& c : cases) {
    expected.push_back(CacheBuffers(host, shape, c.layout, c.tokens, c.batch, c.length, c.decode, c.seed).run_separate());
  }
  for (bool const fused : {false, true}) {
    if (!options.wants(names[fused])) continue;
    results.begin(names[fused], check::describe(shape));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      CacheCase const& c = cases[i];
      CacheBuffers buffers(device, shape, c.layout, c.tokens, c.batch, c.length, c.decode, c.seed);
      std::string const problem = difference(expected[i], fused ? buffers.run_fused() : buffers.run_separate());
      results.record(problem.empty(), describe(c), problem);
    }
  }
}

} // namespace tik::operators::check
