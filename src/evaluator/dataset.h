// Sequences of queries, keys and values, in the parent's own memory: the truth from which every call's buffers are filled.
#pragma once

#include <string_view>
#include <vector>

#include "operators/attention/contract.h"
#include "src/evaluator/random.h"
#include "src/evaluator/tensor.h"
#include "src/spec/specification.h"

namespace tik::evaluator {

// How values are drawn (specification, [checks] accuracy_distributions).
enum class Distribution {
  normal,       // everything standard normal
  large,        // scores far apart: queries and keys four times as large
  dominant_key, // in every sequence one early key draws nearly all the weight of later queries
  equal,        // all keys of a sequence equal: all weights equal
};
Distribution distribution_from(std::string_view name);

// Queries [tokens - first_query, query_heads, head_dim], keys and values [tokens, kv_heads, head_dim], dense.
struct Sequence {
  int tokens = 0;
  int first_query = 0; // the queries before it are not there
  Tensor<tik_bf16> queries, keys, values;
};

struct Dataset {
  tik_attention_shape shape{};
  std::vector<Sequence> sequences;
};

tik_bf16 to_bf16(float value); // rounds to nearest, ties to even
float to_float(tik_bf16 value);

tik_attention_shape contract_shape(spec::AttentionShape const& shape);

// Fresh values for sequences of the given lengths.
Dataset draw(tik_attention_shape const& shape, std::vector<int> const& tokens, Distribution distribution, Random& random);

// Normal values that are copied from a pool of drawn ones, from a random place each time: for more than can be drawn number by
// number. May be read from several threads.
class DrawnValues {
 public:
  explicit DrawnValues(Random& random);
  // At most 2^16 values at a time.
  void copy(tik_bf16* target, std::size_t count, Random& random) const;

 private:
  Tensor<tik_bf16> pool_;
};

// Sequences too long to draw number by number: of such values, row by row.
class DrawnRows {
 public:
  DrawnRows(tik_attention_shape const& shape, Random& random);
  // Keys and values of `tokens` tokens, and the queries from `first_query` on.
  Sequence sequence(int tokens, int first_query);
  // The queries alone.
  Sequence queries(int tokens, int first_query);

 private:
  void fill(Tensor<tik_bf16>& tensor, int rows, int heads);

  tik_attention_shape shape_;
  Random& random_;
  DrawnValues values_;
};

// Fresh normal values for the key and value of one token, and for some queries.
void redraw_token(Dataset& dataset, int sequence, int token, Random& random);
void redraw_queries(Dataset& dataset, int sequence, int first, int count, Random& random);

} // namespace tik::evaluator
