#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "operators/check/dense_cases.h"
#include "operators/check/dense_matrix.h"
#include "operators/language_model_head/reference.h"
#include "operators/language_model_head/workspace.h"

namespace tik::operators::check {
namespace {

// A dense matrix on the device and its numbers as float64.
template <typename Number>
struct Numbers {
  Matrix<Number> device;
  std::vector<double> exact;

  template <typename Row>
  Numbers(Device& on, int rows, int columns, Row row) : device(on, rows, columns, 0) {
    device.write(row);
    auto const image = device.download();
    for (int i = 0; i < rows; ++i) {
      for (int c = 0; c < columns; ++c) exact.push_back(to_double(image.number(i, c)));
    }
  }
  static double to_double(tik_bf16 x) { return to_float(x); }
  static double to_double(float x) { return x; }
};

auto normals(int columns, std::uint64_t seed, float scale = 1) {
  return [=](int row) { return random_row(columns, seed, row, scale); };
}
auto floats(std::uint64_t seed) {
  return [=](int row) { return std::vector<float>{near_normal(seed + static_cast<std::uint64_t>(row) * 7919)}; };
}

// The largest error of dense rows as a part of the largest magnitude, after adding `before` to what is expected.
template <typename Number>
double largest_error(Matrix<Number> const& actual, std::vector<double> const& exact, int columns, double before = 0) {
  auto const image = actual.download();
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    double const wanted = exact[i] + before;
    double const value = Numbers<Number>::to_double(image.number(static_cast<int>(i) / columns, static_cast<int>(i) % columns));
    largest = std::max(largest, std::abs(wanted));
    error = std::max(error, std::isfinite(value) ? std::abs(value - wanted) : HUGE_VAL);
  }
  return error / largest;
}

template <typename Number>
void set(Matrix<Number>& matrix, int columns, Number value) {
  matrix.write([&](int) { return std::vector<Number>(static_cast<std::size_t>(columns), value); });
}

// Runs `call` twice from the same start and records errors and repetition. `prepare` sets what is added to.
template <typename Prepare, typename Call, typename Errors, typename Bits>
void twice(Device& device, Results& results, Prepare prepare, Call call, Errors errors, Bits bits) {
  prepare();
  if (call() != TIK_OK) {
    results.record(false, "backward", std::string("refused: ") + device.functions().last_error());
    return;
  }
  errors();
  auto const first = bits();
  prepare();
  call();
  results.record(first == bits(), "the same call again", "has other bits");
}

constexpr float before = 2;          // what gradients of parameters are added to
constexpr double bf16_step = 0x1p-8; // half a step, and the order of the sum
constexpr double fp32_sums = 1e-5;

void check_linear_gradients(Device& device, linear::Sizes const& sizes, Results& results) {
  results.begin("linear_backward", std::to_string(sizes.tokens) + " tokens, " + std::to_string(sizes.in_features) + " to " +
                                       std::to_string(sizes.out_features));
  int const in = sizes.in_features, out = sizes.out_features;
  Numbers<tik_bf16> const x(device, sizes.tokens, in, normals(in, 81)), weight(device, out, in, normals(in, 82)),
      out_gradient(device, sizes.tokens, out, normals(out, 83));
  Matrix<tik_bf16> x_gradient(device, sizes.tokens, in, 0);
  Matrix<float> weight_gradient(device, out, in, 0), bias_gradient(device, 1, out, 0);
  auto const exact = linear::reference_gradients(sizes, x.exact, weight.exact, out_gradient.exact);

  tik_linear_backward_args args{};
  args.struct_bytes = sizeof args;
  args.tokens = sizes.tokens, args.in_features = in, args.out_features = out;
  args.x = {x.device.row(0), in, 0};
  args.weight = {weight.device.row(0), in, 0};
  args.out_gradient = {out_gradient.device.row(0), out, 0};
  args.x_gradient = {x_gradient.row(0), in, 0};
  args.weight_gradient = weight_gradient.row(0);
  args.bias_gradient = bias_gradient.row(0);
  twice(
      device, results,
      [&] {
        set(weight_gradient, in, before);
        set(bias_gradient, out, before);
      },
      [&] { return device.functions().linear_backward(&args); },
      [&] {
        results.record_error(largest_error(x_gradient, exact.x, in), bf16_step);
        results.record_error(largest_error(weight_gradient, exact.weight, in, before), fp32_sums);
        results.record_error(largest_error(bias_gradient, exact.bias, out, before), fp32_sums);
      },
      [&] {
        return std::tuple(x_gradient.download().bytes, weight_gradient.download().bytes, bias_gradient.download().bytes);
      });
}

void check_head_gradients(Device& device, linear::Sizes const& sizes, float temperature, Results& results) {
  results.begin("language_model_head_backward", std::to_string(sizes.tokens) + " tokens, " + std::to_string(sizes.in_features) +
                                                    " to " + std::to_string(sizes.out_features));
  int const in = sizes.in_features, vocabulary = sizes.out_features, tokens = sizes.tokens;
  std::vector<int> targets(tokens);
  for (int t = 0; t < tokens; ++t) targets[t] = t % 7 == 3 ? -1 : t * 37 % vocabulary;
  Numbers<tik_bf16> const x(device, tokens, in, normals(in, 91)),
      weight(device, vocabulary, in, normals(in, 92, 2 / std::sqrt(static_cast<float>(in))));
  Numbers<float> const probability_gradient(device, tokens, 1, floats(93)), entropy_gradient(device, tokens, 1, floats(94));
  Matrix<std::int32_t> target(device, tokens, 1, 0);
  target.write([&](int t) { return std::vector<std::int32_t>{targets[t]}; });
  Matrix<float> probability(device, tokens, 1, 0), entropy(device, tokens, 1, 0), log_sum(device, tokens, 1, 0);
  Matrix<tik_bf16> x_gradient(device, tokens, in, 0);
  Matrix<float> weight_gradient(device, vocabulary, in, 0);
  Allocation const workspace(device, language_model_head::backward_regions(tokens, in, vocabulary).bytes +
                                         language_model_head::forward_regions(tokens, vocabulary).bytes);
  auto const exact = language_model_head::reference_gradients(sizes, x.exact, weight.exact, targets, temperature,
                                                              probability_gradient.exact, entropy_gradient.exact);

  tik_language_model_head_args forward{};
  forward.struct_bytes = sizeof forward;
  forward.tokens = tokens, forward.in_features = in, forward.vocabulary = vocabulary, forward.temperature = temperature;
  forward.x = {x.device.row(0), in, 0};
  forward.weight = {weight.device.row(0), in, 0};
  forward.outputs = {target.row(0), probability.row(0), entropy.row(0), log_sum.row(0)};
  forward.workspace = workspace.memory(), forward.workspace_bytes = workspace.bytes();
  tik_language_model_head_backward_args args{};
  args.struct_bytes = sizeof args;
  args.tokens = tokens, args.in_features = in, args.vocabulary = vocabulary, args.temperature = temperature;
  args.x = forward.x, args.weight = forward.weight, args.targets = target.row(0);
  args.log_sum = log_sum.row(0), args.entropy = entropy.row(0);
  args.log_probability_gradient = probability_gradient.device.row(0), args.entropy_gradient = entropy_gradient.device.row(0);
  args.x_gradient = {x_gradient.row(0), in, 0};
  args.weight_gradient = weight_gradient.row(0);
  args.workspace = workspace.memory(), args.workspace_bytes = workspace.bytes();
  twice(
      device, results, [&] { set(weight_gradient, in, before); },
      [&] {
        tik_status const status = device.functions().language_model_head(&forward);
        return status != TIK_OK ? status : device.functions().language_model_head_backward(&args);
      },
      [&] {
        results.record_error(largest_error(x_gradient, exact.x, in), 2 * bf16_step); // gradients of logits are rounded, too
        results.record_error(largest_error(weight_gradient, exact.weight, in, before), bf16_step);
      },
      [&] { return std::pair(x_gradient.download().bytes, weight_gradient.download().bytes); });
}

} // namespace

void check_linear_gradients(Device& device, Results& results) {
  for (linear::Sizes const& sizes : {linear::Sizes{1, 16, 8}, {37, 96, 136}, {200, 256, 64}})
    check_linear_gradients(device, sizes, results);
}

void check_head_gradients(Device& device, Results& results) {
  for (linear::Sizes const& sizes : {linear::Sizes{1, 32, 64}, {37, 64, 1096}}) {
    check_head_gradients(device, sizes, 1, results);
    check_head_gradients(device, sizes, 0.6f, results);
  }
}

} // namespace tik::operators::check
