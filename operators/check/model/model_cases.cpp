#include "operators/check/model/model_cases.h"

#include "operators/attention/validate.h"
#include "operators/check/dense_cases.h"
#include "operators/check/suite.h"
#include "operators/linear/validate.h"
#include "operators/swiglu/validate.h"

namespace tik::operators::check {
namespace {

// With more columns a comparison takes longer than a kernel, so fewer cases tell as much.
constexpr int widest_thorough = 8192;
constexpr int widest_on_processor = 512;
constexpr int longest = 1100; // tokens of attention: more than a part of 1024 keys
constexpr int longest_on_processor = 300;

// Query, key and value; attention's output; gate and up; down. Models with QK-norm have no bias.
std::vector<LinearShape> projections(ModelShape const& shape) {
  int const query = shape.query_heads * shape.head_dim, kv = shape.kv_heads * shape.head_dim;
  return {{shape.hidden, query + 2 * kv, !shape.qk_norm},
          {query, shape.hidden},
          {shape.hidden, 2 * shape.intermediate},
          {shape.intermediate, shape.hidden}};
}

DenseOptions dense_options(CaseOptions const& options, int columns) {
  bool const fewer = options.extent == Extent::thorough && columns > widest_thorough;
  return {fewer ? Extent::brief : options.extent, options.seed};
}

void check_projections(Backend const& backend, ModelShape const& shape, CaseOptions const& options, Results& results) {
  for (LinearShape projection : projections(shape)) {
    if (backend.processor && projection.out_features > widest_on_processor) {
      projection.of_features = projection.out_features;
      projection.out_features = widest_on_processor;
    }
    check_linear(backend.device, projection, dense_options(options, projection.out_features), results);
  }
}

void check_head(Backend const& backend, ModelShape const& shape, CaseOptions const& options, Results& results) {
  HeadShape head{shape.hidden, shape.vocabulary};
  if (backend.processor && head.vocabulary > widest_on_processor) {
    head.of_vocabulary = head.vocabulary;
    head.vocabulary = widest_on_processor;
  }
  check_language_model_head(backend.device, head, dense_options(options, head.vocabulary), results);
}

} // namespace

std::optional<Refusal> validate_model(ModelShape const& shape) {
  using linear::check_multiple;
  constexpr int chain_step = linear::in_features_step;
  if (auto bad = validation::first_of(
          {check_multiple("hidden", shape.hidden, chain_step, largest_columns),
           check_multiple("intermediate", shape.intermediate, chain_step, swiglu::largest_columns),
           check_multiple("vocabulary", shape.vocabulary, linear::out_features_step, linear::largest_out_features)})) {
    return bad;
  }
  if (auto bad = attention::validate_shape({shape.query_heads, shape.kv_heads, shape.head_dim, 1})) return bad;
  return check_multiple("query_heads * head_dim", shape.query_heads * shape.head_dim, chain_step, linear::largest_in_features);
}

std::vector<std::string> const& checked_operators() {
  static std::vector<std::string> const names = {"rms_norm",
                                                 "rms_norm_backward",
                                                 "rotary",
                                                 "rotary_inverse",
                                                 "kv_write",
                                                 "qk_norm_rope_kv_write",
                                                 "swiglu",
                                                 "swiglu_backward",
                                                 "embedding",
                                                 "embedding_backward",
                                                 "attention_full_backward",
                                                 "linear",
                                                 "linear_backward",
                                                 "language_model_head",
                                                 "language_model_head_backward",
                                                 "attention"};
  return names;
}

void check_model(Backend const& backend, ModelShape const& shape, CaseOptions const& options, Results& results) {
  check_operators(backend.device, {shape}, options, results);
  if (options.wants("linear")) check_projections(backend, shape, options, results);
  if (options.wants("linear_backward")) check_linear_gradients(backend.device, results);
  if (options.wants("language_model_head")) check_head(backend, shape, options, results);
  if (options.wants("language_model_head_backward")) check_head_gradients(backend.device, results);
  if (options.wants("attention")) {
    check_attention(backend.device, backend.attention, shape, backend.processor ? longest_on_processor : longest, options,
                    results);
  }
}

} // namespace tik::operators::check
