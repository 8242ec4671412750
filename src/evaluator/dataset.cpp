#include "src/evaluator/dataset.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tik::evaluator {
namespace {

Tensor<tik_bf16> draw_values(std::size_t count, float scale, Random& random) {
  Tensor<tik_bf16> values(count);
  for (tik_bf16& value : values) value = to_bf16(scale * random.normal());
  return values;
}

// One early key points along the sum of its group's queries, long enough to win every softmax that sees it.
void make_dominant_key(Sequence& sequence, tik_attention_shape const& shape, Random& random) {
  int const token = random.between(0, (sequence.tokens - 1) / 2);
  std::size_t const dim = static_cast<std::size_t>(shape.head_dim);
  for (int head = 0; head < shape.kv_heads; ++head) {
    for (std::size_t d = 0; d < dim; ++d) {
      std::size_t const at =
          (static_cast<std::size_t>(token) * static_cast<std::size_t>(shape.kv_heads) + static_cast<std::size_t>(head)) * dim +
          d;
      sequence.keys[at] = to_bf16(2.0f);
    }
  }
  // Queries lean towards the direction of that key, more or less strongly.
  for (tik_bf16& value : sequence.queries) value = to_bf16(to_float(value) + 0.75f);
}

void make_equal_keys(Sequence& sequence, tik_attention_shape const& shape) {
  std::size_t const row = static_cast<std::size_t>(shape.kv_heads) * static_cast<std::size_t>(shape.head_dim);
  for (std::size_t i = row; i < sequence.keys.size(); ++i) sequence.keys[i] = sequence.keys[i - row];
}

} // namespace

Distribution distribution_from(std::string_view name) {
  if (name == "large") return Distribution::large;
  if (name == "dominant-key") return Distribution::dominant_key;
  if (name == "equal") return Distribution::equal;
  return Distribution::normal;
}

tik_bf16 to_bf16(float value) {
  auto const bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<tik_bf16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float to_float(tik_bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16); }

tik_attention_shape contract_shape(spec::AttentionShape const& shape) {
  double const scale = shape.softmax_scale > 0 ? shape.softmax_scale : 1 / std::sqrt(static_cast<double>(shape.head_dim));
  return {shape.query_heads, shape.kv_heads, shape.head_dim, static_cast<float>(scale)};
}

Dataset draw(tik_attention_shape const& shape, std::vector<int> const& tokens, Distribution distribution, Random& random) {
  Dataset dataset{shape, {}};
  float const scale = distribution == Distribution::large ? 4.0f : 1.0f;
  for (int const length : tokens) {
    std::size_t const rows = static_cast<std::size_t>(length) * static_cast<std::size_t>(shape.head_dim);
    Sequence sequence;
    sequence.tokens = length;
    sequence.queries = draw_values(rows * static_cast<std::size_t>(shape.query_heads), scale, random);
    sequence.keys = draw_values(rows * static_cast<std::size_t>(shape.kv_heads), scale, random);
    sequence.values = draw_values(rows * static_cast<std::size_t>(shape.kv_heads), 1.0f, random);
    if (distribution == Distribution::dominant_key) make_dominant_key(sequence, shape, random);
    if (distribution == Distribution::equal) make_equal_keys(sequence, shape);
    dataset.sequences.push_back(std::move(sequence));
  }
  return dataset;
}

DrawnValues::DrawnValues(Random& random) : pool_(draw_values(std::size_t{1} << 20, 1.0f, random)) {}

void DrawnValues::copy(tik_bf16* target, std::size_t count, Random& random) const {
  std::memcpy(target, pool_.data() + random.next() % (pool_.size() - count), count * sizeof(tik_bf16));
}

DrawnRows::DrawnRows(tik_attention_shape const& shape, Random& random) : shape_(shape), random_(random), values_(random) {}

void DrawnRows::fill(Tensor<tik_bf16>& tensor, int rows, int heads) {
  std::size_t const row = static_cast<std::size_t>(heads) * static_cast<std::size_t>(shape_.head_dim);
  tensor.resize(row * static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) values_.copy(tensor.data() + i * row, row, random_);
}

Sequence DrawnRows::sequence(int tokens, int first_query) {
  Sequence sequence = queries(tokens, first_query);
  fill(sequence.keys, tokens, shape_.kv_heads);
  fill(sequence.values, tokens, shape_.kv_heads);
  return sequence;
}

Sequence DrawnRows::queries(int tokens, int first_query) {
  Sequence sequence;
  sequence.tokens = tokens;
  sequence.first_query = first_query;
  fill(sequence.queries, tokens - first_query, shape_.query_heads);
  return sequence;
}

void redraw_token(Dataset& dataset, int sequence, int token, Random& random) {
  Sequence& drawn = dataset.sequences[static_cast<std::size_t>(sequence)];
  std::size_t const row = static_cast<std::size_t>(dataset.shape.kv_heads) * static_cast<std::size_t>(dataset.shape.head_dim);
  for (Tensor<tik_bf16>* tensor : {&drawn.keys, &drawn.values}) {
    for (std::size_t i = 0; i < row; ++i) (*tensor)[static_cast<std::size_t>(token) * row + i] = to_bf16(random.normal());
  }
}

void redraw_queries(Dataset& dataset, int sequence, int first, int count, Random& random) {
  Tensor<tik_bf16>& queries = dataset.sequences[static_cast<std::size_t>(sequence)].queries;
  std::size_t const row =
      static_cast<std::size_t>(dataset.shape.query_heads) * static_cast<std::size_t>(dataset.shape.head_dim);
  std::size_t const begin =
      static_cast<std::size_t>(first - dataset.sequences[static_cast<std::size_t>(sequence)].first_query) * row;
  for (std::size_t i = 0; i < row * static_cast<std::size_t>(count); ++i) queries[begin + i] = to_bf16(random.normal());
}

} // namespace tik::evaluator
