#include "operators/check/attention_backward_cases.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "operators/attention_backward/reference.h"
#include "operators/check/attention_backward_buffers.h"
#include "operators/check/source.h"
#include "operators/check/tensors.h"

namespace tik::operators::check {
namespace {

// float64 takes the square of the tokens: up to here it is compared with.
constexpr double largest_reference = 3e7;         // tokens * tokens * query_heads * head_dim
constexpr std::size_t largest_tensor = 3'000'000; // elements: keeps a case within a tenth of a second
// As a part of a tensor's largest magnitude: weights, gradients of scores, the output that they are taken from and the
// gradients themselves are each rounded to bfloat16.
constexpr double largest_gradient_error = 0x1p-6;

std::vector<tik_bf16> rows(int tokens, int columns, std::uint64_t seed) {
  std::vector<tik_bf16> all(std::size_t(tokens) * columns);
  for (int token = 0; token < tokens; ++token) write_row(&all[std::size_t(token) * columns], columns, seed, token);
  return all;
}

class BackwardCases {
 public:
  BackwardCases(Device& device, AttentionBackwardShape const& shape, int tokens, std::uint64_t seed, Results& results)
      : device_(device), results_(results), random_(seed) {
    int const query_columns = shape.query_heads * shape.head_dim, key_columns = shape.kv_heads * shape.head_dim;
    inputs_ = {shape,
               tokens,
               rows(tokens, query_columns, seed + 1),
               rows(tokens, key_columns, seed + 2),
               rows(tokens, key_columns, seed + 3),
               rows(tokens, query_columns, seed + 4),
               rows(tokens, query_columns, seed + 5),
               std::vector<float>(std::size_t(tokens) * shape.query_heads, 6)};
  }

  void run() {
    std::optional<attention_backward::Reference> exact;
    if (double(inputs_.tokens) * inputs_.tokens * inputs_.shape.query_heads * inputs_.shape.head_dim <= largest_reference)
      exact = forward();
    int const tokens = inputs_.tokens;
    whole_ = run_backward(device_, inputs_, {.tokens = tokens});
    results_.record(whole_.problem.empty(), label("alone"), whole_.problem);
    if (!whole_.problem.empty()) return;
    compare("again", {.tokens = tokens});
    compare("with padding", {.tokens = tokens, .padding = 3});
    compare("with gaps", {.tokens = tokens, .padding = 1, .gap = 24});
    compare("heads first", {.tokens = tokens, .heads_first = true});
    int const before = random_.between(1, 100), after = random_.between(1, 200);
    compare("after a sequence of " + std::to_string(before), {.tokens = tokens, .before = before});
    compare("between " + std::to_string(before) + " and " + std::to_string(after),
            {.tokens = tokens, .before = before, .after = after, .padding = 2, .gap = 8});
    int const prompt = random_.between(1, tokens);
    compare("the queries of the first " + std::to_string(prompt), {.tokens = prompt, .after = 40});
    if (exact) {
      results_.record_error(largest_error(whole_.query_gradient, exact->query_gradient), largest_gradient_error);
      results_.record_error(largest_error(whole_.key_gradient, exact->key_gradient), largest_gradient_error);
      results_.record_error(largest_error(whole_.value_gradient, exact->value_gradient), largest_gradient_error);
    }
  }

 private:
  std::string label(std::string const& what) const { return std::to_string(inputs_.tokens) + " tokens, " + what; }

  // Output and log-sum-exp as a forward call rounds them. Elsewhere they are any numbers: bits need no true ones.
  attention_backward::Reference forward() {
    AttentionBackwardShape const& shape = inputs_.shape;
    attention_backward::Reference exact = attention_backward::reference(
        {shape.query_heads, shape.kv_heads, shape.head_dim, 1 / std::sqrt(static_cast<float>(shape.head_dim))},
        {0, inputs_.tokens}, to_doubles(inputs_.queries), to_doubles(inputs_.keys), to_doubles(inputs_.values),
        to_doubles(inputs_.out_gradient));
    std::transform(exact.out.begin(), exact.out.end(), inputs_.out.begin(),
                   [](double value) { return to_bf16(static_cast<float>(value)); });
    std::transform(exact.lse.begin(), exact.lse.end(), inputs_.lse.begin(), [](double value) { return float(value); });
    return exact;
  }

  // Of fewer tokens than the sequence has, only the gradients of queries are those of the whole.
  void compare(std::string const& what, BackwardLayout const& layout) {
    BackwardOutputs const part = run_backward(device_, inputs_, layout);
    std::string problem = part.problem;
    bool const all = layout.tokens == inputs_.tokens;
    if (problem.empty()) problem = difference("query_gradient", whole_.query_gradient, part.query_gradient);
    if (problem.empty() && all) problem = difference("key_gradient", whole_.key_gradient, part.key_gradient);
    if (problem.empty() && all) problem = difference("value_gradient", whole_.value_gradient, part.value_gradient);
    results_.record(problem.empty(), label(what), problem);
  }

  static std::string difference(char const* name, std::vector<tik_bf16> const& whole, std::vector<tik_bf16> const& part) {
    std::size_t differing = 0, first = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (whole[i] != part[i] && differing++ == 0) first = i;
    }
    if (differing == 0) return "";
    return std::string(name) + ": " + std::to_string(differing) + " of " + std::to_string(part.size()) +
           " elements differ, the first at " + std::to_string(first);
  }

  static double largest_error(std::vector<tik_bf16> const& actual, std::vector<double> const& exact) {
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      double const value = to_float(actual[i]);
      largest = std::max(largest, std::abs(exact[i]));
      error = std::max(error, std::isfinite(value) ? std::abs(value - exact[i]) : HUGE_VAL);
    }
    return largest < 1e-3 ? error : error / largest; // the only query of a sequence has the gradient 0
  }

  Device& device_;
  Results& results_;
  Random random_;
  BackwardInputs inputs_;
  BackwardOutputs whole_;
};

} // namespace

std::string describe(AttentionBackwardShape const& shape) {
  return std::to_string(shape.query_heads) + "/" + std::to_string(shape.kv_heads) + "x" + std::to_string(shape.head_dim);
}

void check_attention_backward(Device& device, AttentionBackwardShape const& shape, CaseOptions const& options,
                              Results& results) {
  results.begin("attention_full_backward", describe(shape));
  std::vector<int> lengths{20};
  if (options.extent == Extent::brief) lengths = {1, 17, 64, 65, 150};
  if (options.extent == Extent::thorough) lengths = {1, 2, 15, 16, 17, 33, 63, 64, 65, 100, 127, 128, 129, 300, 700, 1025};
  for (int const tokens : lengths) {
    if (std::size_t(tokens) * shape.query_heads * shape.head_dim > largest_tensor) continue;
    BackwardCases(device, shape, tokens, mix(options.seed + static_cast<std::uint64_t>(tokens)), results).run();
  }
}

} // namespace tik::operators::check
