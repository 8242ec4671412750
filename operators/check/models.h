// The shapes of the dense models that checks and benchmarks go through.
#pragma once

#include <string>
#include <vector>

namespace tik::operators::check {

struct ModelShape {
  std::string name;
  int hidden;
  int query_heads;
  int kv_heads;
  int head_dim;
  int intermediate; // columns of SwiGLU
  int vocabulary;
  bool qk_norm;
};

// Qwen2.5 and Qwen3 dense models, from the configurations that are published with them ("qwen3-8b" and so on).
std::vector<ModelShape> const& known_models();

} // namespace tik::operators::check
