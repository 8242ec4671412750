#include "operators/rotary/table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tik::operators::rotary {
namespace {

// The pair, as a real number, that turns `turns` times within the original context (YaRN, section 3.2).
double pair_of_turns(tik_rotary_table_args const& args, double turns) {
  return args.head_dim * std::log(args.original_positions / (turns * 2 * std::numbers::pi)) / (2 * std::log(args.base));
}

// How much of YaRN's interpolation a pair gets: 0 for fast ones, 1 for slow ones.
double interpolation(tik_rotary_table_args const& args, int pair) {
  double const last = args.head_dim - 1;
  double const low = std::max(std::floor(pair_of_turns(args, args.beta_fast)), 0.0);
  double high = std::min(std::ceil(pair_of_turns(args, args.beta_slow)), last);
  if (high <= low) high = low + 0.001;
  return std::clamp((pair - low) / (high - low), 0.0, 1.0);
}

} // namespace

double frequency(tik_rotary_table_args const& args, int pair) {
  double const unscaled = std::pow(args.base, -2.0 * pair / args.head_dim);
  if (args.scaling == TIK_ROTARY_UNSCALED) return unscaled;
  double const part = interpolation(args, pair);
  return unscaled * (1 - part) + unscaled / args.factor * part;
}

double magnitude(tik_rotary_table_args const& args) {
  if (args.scaling == TIK_ROTARY_UNSCALED) return 1;
  return args.attention_factor > 0 ? args.attention_factor : 0.1 * std::log(args.factor) + 1;
}

std::optional<Refusal> fill_table(tik_rotary_table_args const* args) {
  if (auto bad = validate(args)) return bad;
  int const half = args->head_dim / 2;
  double const scale = magnitude(*args);
  for (int pair = 0; pair < half; ++pair) {
    double const turned = frequency(*args, pair);
    float* line = args->table;
    for (int position = 0; position < args->positions; ++position, line += args->head_dim) {
      line[pair] = static_cast<float>(std::cos(position * turned) * scale);
      line[half + pair] = static_cast<float>(std::sin(position * turned) * scale);
    }
  }
  return std::nullopt;
}

} // namespace tik::operators::rotary
