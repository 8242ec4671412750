// write_synthetic_history DIR SPEC [IMPLEMENTATIONS] [SEED]: see synthetic_history.h.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "bench/engine/synthetic_history.h"

namespace {

template <class Number>
bool parse(char const* text, Number& number) {
  char const* const end = text + std::strlen(text);
  auto const result = std::from_chars(text, end, number);
  return result.ec == std::errc() && result.ptr == end && number > 0;
}

} // namespace

int main(int argc, char** argv) {
  tik::bench::SyntheticHistory history;
  bool const good = argc >= 3 && argc <= 5 && (argc < 4 || parse(argv[3], history.implementations)) &&
                    (argc < 5 || parse(argv[4], history.seed));
  if (!good) {
    fmt::print(stderr, "usage: write_synthetic_history DIR SPEC [IMPLEMENTATIONS] [SEED]\n");
    return 2;
  }
  history.specification = argv[2];
  auto const counts = tik::bench::write_synthetic_history(argv[1], history);
  if (!counts) {
    fmt::print(stderr, "{}\n", counts.error().message);
    return 3;
  }
  fmt::print("synthetic_records: {}\nsynthetic_promotions: {}\nsynthetic_failures: {}\nsynthetic_merges: {}\n", counts->records,
             counts->promotions, counts->failures, counts->merges);
  return 0;
}
