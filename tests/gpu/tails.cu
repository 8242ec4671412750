#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

constexpr int longest_tail = 130;

void check_tail(Suite& suite, tik_attention_shape const& shape, Source source, int prompt, int tail) {
  int const length = prompt + tail;
  std::string const label =
      describe(shape) + " " + name(source.distribution) + " prompt " + std::to_string(prompt) + " tail " + std::to_string(tail);
  Rows const whole = run_full(suite, shape, {{source, 0, length}}, label)[0];
  Rows const alone = run_full(suite, shape, {{source, 0, prompt}}, label + " prompt")[0];
  suite.report.compare("tails", label + ": prompt alone", whole, 0, alone, 0, prompt);

  // The response: one decode sequence a position, all on the same pages.
  std::vector<Piece> positions;
  for (int position = prompt; position < length; ++position) positions.push_back({source, position, position + 1});
  CallSetup const setup{Entry::decode, shape, limits_of(positions), tail, {.page_size = 16, .share = true}};
  Rows response;
  for (Rows const& rows : run(suite, setup, positions, label + " decode")) response.append(rows);
  suite.report.compare("tails", label + ": response by decode", whole, prompt, response, 0, tail);
}

} // namespace

void check_tails(Suite& suite) {
  Random random(suite.seed + 1);
  if (suite.tiny) {
    check_tail(suite, make_shape(4, 2, 64), {random.next()}, 20, 3);
    check_tail(suite, make_shape(5, 1, 128), {random.next()}, 125, 6);
    return;
  }
  int const step = suite.quick ? 13 : 1;
  for (int tail = 1; tail <= longest_tail; tail += step) {
    check_tail(suite, make_shape(32, 8, 128), {random.next()}, random.between(1, 300), tail);
    check_tail(suite, make_shape(12, 2, 128), {random.next(), Distribution::binades}, random.between(1, 200), tail);
    check_tail(suite, make_shape(7, 1, 64), {random.next()}, random.between(900, 1100), tail);
    check_tail(suite, make_shape(16, 2, 128), {random.next(), Distribution::large}, 128 * random.between(1, 9), tail);
  }
}

} // namespace tik::gpu_suite
