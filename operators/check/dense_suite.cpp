#include "operators/check/dense_cases.h"

namespace tik::operators::check {
namespace {

// Query, key and value; attention's output; gate and up; down: of Qwen2.5-1.5B, Qwen3-4B and Qwen3-8B.
std::vector<LinearShape> projections() {
  return {{1536, 2048, true}, {1536, 1536}, {1536, 17920}, {8960, 1536}, {2560, 6144},  {4096, 2560},
          {2560, 19456},      {9728, 2560}, {4096, 6144},  {4096, 4096}, {4096, 24576}, {12288, 4096}};
}

constexpr int widest_thorough = 8192;

} // namespace

void check_dense(Device& device, DenseOptions const& options, Results& results) {
  check_dense_refusals(device, results);
  check_linear_gradients(device, results);
  check_head_gradients(device, results);
  for (LinearShape const& shape : {LinearShape{16, 16, true}, {48, 136, false, true}, {80, 264, true, false, 8}})
    check_linear(device, shape, options, results);
  check_language_model_head(device, {64, 4104, 0.7f}, options, results);
  if (options.extent == Extent::tiny) return;
  check_linear(device, {2560, 512, true, true, 8}, options, results);
  check_linear(device, {8960, 1536, false, true, 64}, options, results);
  check_language_model_head(device, {1536, 2048}, options, results);
  if (options.extent == Extent::brief) return;
  for (LinearShape const& shape : projections()) {
    // A wide output takes long to compare, and its kernels are those of the others.
    Extent const extent = shape.out_features > widest_thorough ? Extent::brief : options.extent;
    check_linear(device, shape, {extent, options.seed}, results);
  }
  check_language_model_head(device, {64, 151936}, options, results);
  check_language_model_head(device, {2560, 9000, 1.3f}, options, results);
  check_language_model_head(device, {4096, 3072}, options, results);
}

} // namespace tik::operators::check
