#include "operators/attention_backward/reference.h"

#include <algorithm>
#include <cmath>

namespace tik::operators::attention_backward {
namespace {

double dot(double const* a, double const* b, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(double factor, double const* source, double* sums, int count) {
  for (int i = 0; i < count; ++i) sums[i] += factor * source[i];
}

// The inputs and what is computed of them.
struct Tensors {
  tik_attention_shape const& shape;
  std::vector<double> const &queries, &keys, &values, &out_gradient;
  Reference& to;

  std::size_t query_row(int token, int head) const { return (std::size_t(token) * shape.query_heads + head) * shape.head_dim; }
  std::size_t key_row(int token, int head) const {
    int const kv_head = head / (shape.query_heads / shape.kv_heads);
    return (std::size_t(token) * shape.kv_heads + kv_head) * shape.head_dim;
  }
};

// The query token `token` of a sequence that begins at `first`, under one head.
void add_row(Tensors const& on, int first, int token, int head) {
  int const dim = on.shape.head_dim;
  std::size_t const q = on.query_row(token, head);
  std::vector<double> weights(token - first + 1);
  for (int j = first; j <= token; ++j)
    weights[j - first] = on.shape.softmax_scale * dot(&on.queries[q], &on.keys[on.key_row(j, head)], dim);
  double const maximum = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - maximum);
  for (double& weight : weights) weight /= sum;
  for (int j = first; j <= token; ++j) add_scaled(weights[j - first], &on.values[on.key_row(j, head)], &on.to.out[q], dim);
  on.to.lse[std::size_t(token) * on.shape.query_heads + head] = maximum + std::log(sum);

  double const mean = dot(&on.out_gradient[q], &on.to.out[q], dim);
  for (int j = first; j <= token; ++j) {
    std::size_t const k = on.key_row(j, head);
    double const weight = weights[j - first];
    double const score_gradient = on.shape.softmax_scale * weight * (dot(&on.out_gradient[q], &on.values[k], dim) - mean);
    add_scaled(score_gradient, &on.keys[k], &on.to.query_gradient[q], dim);
    add_scaled(score_gradient, &on.queries[q], &on.to.key_gradient[k], dim);
    add_scaled(weight, &on.out_gradient[q], &on.to.value_gradient[k], dim);
  }
}

} // namespace

Reference reference(tik_attention_shape const& shape, std::vector<std::int32_t> const& offsets,
                    std::vector<double> const& queries, std::vector<double> const& keys, std::vector<double> const& values,
                    std::vector<double> const& out_gradient) {
  Reference to;
  to.out.resize(queries.size());
  to.lse.resize(queries.size() / shape.head_dim);
  to.query_gradient.resize(queries.size());
  to.key_gradient.resize(keys.size());
  to.value_gradient.resize(values.size());
  Tensors const on{shape, queries, keys, values, out_gradient, to};
  for (std::size_t sequence = 0; sequence + 1 < offsets.size(); ++sequence) {
    for (int token = offsets[sequence]; token < offsets[sequence + 1]; ++token) {
      for (int head = 0; head < shape.query_heads; ++head) add_row(on, offsets[sequence], token, head);
    }
  }
  return to;
}

} // namespace tik::operators::attention_backward
