#include "operators/check/suite.h"

#include <set>

#include "operators/check/attention_backward_cases.h"
#include "operators/check/cache_cases.h"
#include "operators/check/operators.h"
#include "operators/check/sums.h"

namespace tik::operators::check {
namespace {

// Tables in checks have fewer rows than a model's vocabulary: a row is found by one product of its number.
constexpr int checked_vocabulary = 1000;

// Gradients share the kernels' reductions with the forward pass, so fewer numbers of tokens tell as much.
CaseOptions of_gradients(CaseOptions options) {
  if (options.extent == Extent::thorough) options.extent = Extent::brief;
  return options;
}

class Checks {
 public:
  Checks(Device& device, CaseOptions const& options, Results& results)
      : device_(device), options_(options), results_(results) {}

  // Runs `check` unless the same was checked before.
  template <typename Check>
  void once(std::string const& what, Check check) {
    if (done_.insert(what).second) check();
  }

  void token_operator(std::unique_ptr<TokenOperator> checked, bool gradient) {
    if (!options_.wants(checked->name())) return;
    once(checked->name() + " " + checked->shape(),
         [&] { check_token_operator(device_, *checked, gradient ? of_gradients(options_) : options_, results_); });
  }

  void norm(NormShape const& shape) {
    token_operator(make_rms_norm(shape), false);
    token_operator(make_rms_norm_backward(shape), true);
    if (options_.wants("rms_norm_backward"))
      once("weight " + std::to_string(shape.heads) + " " + std::to_string(shape.columns),
           [&] { check_weight_gradient(device_, shape.heads, shape.columns, options_, results_); });
  }

  void table_gradient(int columns) {
    if (!options_.wants("embedding_backward")) return;
    once("table " + std::to_string(columns),
         [&] { check_table_gradient(device_, columns, checked_vocabulary, of_gradients(options_), results_); });
  }

  void attention_backward(AttentionBackwardShape const& shape) {
    if (!options_.wants("attention_full_backward")) return;
    once("attention " + describe(shape), [&] { check_attention_backward(device_, shape, options_, results_); });
  }

  void model(ModelShape const& shape) {
    norm({1, shape.hidden, false});
    norm({1, shape.hidden, true});
    if (shape.qk_norm) {
      norm({shape.query_heads, shape.head_dim});
      norm({shape.kv_heads, shape.head_dim});
    }
    for (bool const yarn : {false, true}) {
      token_operator(make_rotary({shape.query_heads, shape.kv_heads, shape.head_dim, yarn, false}), false);
      token_operator(make_rotary({shape.query_heads, shape.kv_heads, shape.head_dim, yarn, true}), true);
    }
    CacheShape const cache{shape.query_heads, shape.kv_heads, shape.head_dim, shape.qk_norm};
    once("cache " + describe(cache), [&] { check_cache_writes(device_, cache, options_, results_); });
    token_operator(make_swiglu(shape.intermediate), false);
    token_operator(make_swiglu_backward(shape.intermediate), true);
    token_operator(make_embedding(shape.hidden, checked_vocabulary), false);
    table_gradient(shape.hidden);
    attention_backward({shape.query_heads, shape.kv_heads, shape.head_dim});
  }

 private:
  Device& device_;
  CaseOptions options_;
  Results& results_;
  std::set<std::string> done_;
};

} // namespace

void check_operators(Device& device, std::vector<ModelShape> const& models, CaseOptions const& options, Results& results) {
  Checks checks(device, options, results);
  for (ModelShape const& model : models) checks.model(model);
}

void check_unusual_shapes(Device& device, CaseOptions const& options, Results& results) {
  Checks checks(device, options, results);
  for (int const columns : {8, 64, 256, 264, 2056, 4104, 8192}) checks.norm({1, columns, true});
  checks.norm({8, 64});
  checks.norm({3, 320, true, Distribution::sparse});
  checks.norm({1, 4096, true, Distribution::binades});
  checks.token_operator(make_rotary({5, 0, 64, true, false}), false);
  checks.token_operator(make_swiglu(8), false);
  checks.token_operator(make_swiglu(1000, Distribution::large), false);
  checks.token_operator(make_swiglu_backward(1000, Distribution::large), true);
  checks.token_operator(make_embedding(8, 3), false);
  check_table_gradient(device, 1032, 7, options, results);
  for (AttentionBackwardShape const& shape : {AttentionBackwardShape{1, 1, 64}, {6, 3, 128}, {16, 1, 64}})
    checks.attention_backward(shape);
  for (CacheShape const& shape : {CacheShape{1, 1, 64, true}, CacheShape{6, 3, 128, false}}) {
    checks.once("cache " + describe(shape), [&] { check_cache_writes(device, shape, options, results); });
  }
}

} // namespace tik::operators::check
