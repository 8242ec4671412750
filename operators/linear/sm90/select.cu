// Which calls the strip kernel takes: where cuBLASLt without split-K leaves bandwidth or latency unused (measured on an H200,
// bench/results/h200/operators.json).
#include "operators/linear/sm90/kernels.h"

namespace tik::operators::sm90 {

std::optional<StripCut> select_strip(int tokens, int in_features, int out_features) {
  bool const narrow = out_features <= 2048;
  bool const deep = in_features >= 4 * out_features;
  if (tokens > 64 || !narrow || !deep) return std::nullopt;
  int const tile = (tokens + 7) / 8 * 8;
  return StripCut{16, tile, 1, 1, half_ring_bytes};
}

} // namespace tik::operators::sm90
