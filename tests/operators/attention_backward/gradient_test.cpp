// The float64 gradients against central differences of the float64 function, and that against attention's own reference.
#include <gtest/gtest.h>

#include "operators/arithmetic.h"
#include "operators/attention/reference.h"
#include "operators/attention_backward/reference.h"
#include "operators/check/tensors.h"
#include "tests/operators/differences.h"

namespace tik::operators::attention_backward {
namespace {

int elements(std::vector<std::int32_t> const& offsets, int heads, int head_dim) { return offsets.back() * heads * head_dim; }

TEST(AttentionBackwardReference, GradientsAreThoseOfCentralDifferences) {
  for (tik_attention_shape const& shape : {tik_attention_shape{1, 1, 3, 0.7f}, {4, 2, 2, 0.5f}, {3, 1, 4, 1.1f}}) {
    for (std::vector<std::int32_t> const& offsets : {std::vector<std::int32_t>{0, 1}, {0, 5}, {0, 3, 3, 7}}) {
      std::vector<double> queries = random_numbers(elements(offsets, shape.query_heads, shape.head_dim), 1);
      std::vector<double> keys = random_numbers(elements(offsets, shape.kv_heads, shape.head_dim), 2);
      std::vector<double> values = random_numbers(elements(offsets, shape.kv_heads, shape.head_dim), 3);
      std::vector<double> const out_gradient = random_numbers(static_cast<int>(queries.size()), 4);
      auto const loss = [&] { return dot(out_gradient, reference(shape, offsets, queries, keys, values, out_gradient).out); };
      Reference const gradients = reference(shape, offsets, queries, keys, values, out_gradient);
      expect_gradient(queries, gradients.query_gradient, loss);
      expect_gradient(keys, gradients.key_gradient, loss);
      expect_gradient(values, gradients.value_gradient, loss);
    }
  }
}

std::vector<tik_bf16> rounded(std::vector<double> const& numbers) {
  std::vector<tik_bf16> values;
  for (double const number : numbers) values.push_back(to_bf16(static_cast<float>(number)));
  return values;
}

TEST(AttentionBackwardReference, TheFunctionIsThatOfAttention) {
  tik_attention_shape const shape{6, 2, 64, 0.125f};
  std::vector<std::int32_t> const offsets{0, 9, 30};
  auto const queries = rounded(random_numbers(elements(offsets, 6, 64), 1));
  auto const keys = rounded(random_numbers(elements(offsets, 2, 64), 2));
  auto const values = rounded(random_numbers(elements(offsets, 2, 64), 3));
  tik_attention_args args{};
  args.batch = 2;
  args.shape = shape;
  args.queries = queries.data();
  args.query_token_stride = 6 * 64;
  args.query_head_stride = 64;
  args.query_offsets = offsets.data();
  args.kv.layout = TIK_KV_PACKED;
  args.kv.keys = keys.data();
  args.kv.values = values.data();
  args.kv.token_stride = 2 * 64;
  args.kv.head_stride = 64;
  attention::Reference forward;
  ASSERT_FALSE(attention::compute_reference(attention::Entry::full, args, forward));
  Reference const both = reference(shape, offsets, check::to_doubles(queries), check::to_doubles(keys),
                                   check::to_doubles(values), std::vector<double>(queries.size()));
  ASSERT_EQ(both.out.size(), forward.out.size());
  for (std::size_t i = 0; i < both.out.size(); ++i) ASSERT_NEAR(both.out[i], forward.out[i], 1e-12) << i;
  for (std::size_t i = 0; i < both.lse.size(); ++i) ASSERT_NEAR(both.lse[i], forward.lse[i], 1e-12) << i;
}

} // namespace
} // namespace tik::operators::attention_backward
