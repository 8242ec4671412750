#include "operators/check/models.h"

namespace tik::operators::check {

std::vector<ModelShape> const& known_models() {
  static std::vector<ModelShape> const models = {
      {"qwen2.5-0.5b", 896, 14, 2, 64, 4864, 151936, false},   {"qwen2.5-1.5b", 1536, 12, 2, 128, 8960, 151936, false},
      {"qwen2.5-3b", 2048, 16, 2, 128, 11008, 151936, false},  {"qwen2.5-7b", 3584, 28, 4, 128, 18944, 152064, false},
      {"qwen2.5-14b", 5120, 40, 8, 128, 13824, 152064, false}, {"qwen2.5-32b", 5120, 40, 8, 128, 27648, 152064, false},
      {"qwen2.5-72b", 8192, 64, 8, 128, 29568, 152064, false}, {"qwen3-0.6b", 1024, 16, 8, 128, 3072, 151936, true},
      {"qwen3-1.7b", 2048, 16, 8, 128, 6144, 151936, true},    {"qwen3-4b", 2560, 32, 8, 128, 9728, 151936, true},
      {"qwen3-8b", 4096, 32, 8, 128, 12288, 151936, true},     {"qwen3-14b", 5120, 40, 8, 128, 17408, 151936, true},
      {"qwen3-32b", 5120, 64, 8, 128, 25600, 151936, true},
  };
  return models;
}

} // namespace tik::operators::check
