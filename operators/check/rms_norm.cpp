#include <cstdint>

#include "operators/check/operators.h"
#include "operators/check/tensors.h"
#include "operators/rms_norm/reference.h"

namespace tik::operators::check {
namespace {

constexpr float epsilon = 1e-6f;
constexpr std::uint64_t x_seed = 11, residual_seed = 12, weight_seed = 13, gradient_seed = 14, sum_gradient_seed = 15;

std::string describe(NormShape const& shape, std::string const& residual) {
  return (shape.heads > 1 ? std::to_string(shape.heads) + " heads x " : "") + std::to_string(shape.columns) +
         (shape.residual ? residual : "") + (shape.distribution == Distribution::normal ? "" : ", wide exponents");
}

class RmsNorm final : public TokenOperator {
 public:
  explicit RmsNorm(NormShape const& shape) : shape_(shape) {
    tensors_.push_back(input("x", shape.heads, shape.columns, x_seed, shape.distribution));
    tensors_.push_back(shared_input("weight", shape.columns, weight_seed));
    tensors_.push_back(output("out", shape.heads, shape.columns));
    if (!shape.residual) return;
    tensors_.push_back(input("residual", shape.heads, shape.columns, residual_seed, shape.distribution));
    tensors_.push_back(output("sum", shape.heads, shape.columns));
  }

  std::string name() const override { return "rms_norm"; }
  std::string shape() const override { return describe(shape_, " with residual"); }
  std::vector<Tensor> const& tensors() const override { return tensors_; }

  tik_status call(Functions const& functions, std::vector<Place> const& places, int tokens) const override {
    tik_rms_norm_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens;
    args.heads = shape_.heads;
    args.columns = shape_.columns;
    args.epsilon = epsilon;
    args.x = places[0];
    args.weight = places[1].as<tik_bf16>();
    args.out = places[2];
    args.weight_settled = tokens % 2;
    if (shape_.residual) {
      args.residual = places[3];
      args.sum = places[4];
    }
    return functions.rms_norm(&args);
  }

  std::vector<std::vector<double>> exact(int token) const override {
    std::vector<double> const weight = content_of(tensors_[1], 0);
    std::vector<double> sum = content_of(tensors_[0], token);
    std::vector<double> stored = sum;
    if (shape_.residual) {
      std::vector<double> const residual = content_of(tensors_[3], token);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += residual[i];
        stored[i] = to_float(to_bf16(static_cast<float>(sum[i]))); // what is normalised is the sum as it is stored
      }
    }
    auto out = by_head(stored, shape_.columns, [&](auto const& row) { return rms_norm::reference(row, weight, epsilon); });
    if (!shape_.residual) return {out};
    return {out, sum};
  }

 private:
  NormShape shape_;
  std::vector<Tensor> tensors_;
};

// x_gradient alone: the weight's gradient is a sum over tokens (sums.h).
class RmsNormBackward final : public TokenOperator {
 public:
  explicit RmsNormBackward(NormShape const& shape) : shape_(shape) {
    tensors_.push_back(input("x", shape.heads, shape.columns, x_seed, shape.distribution));
    tensors_.push_back(shared_input("weight", shape.columns, weight_seed));
    tensors_.push_back(input("out_gradient", shape.heads, shape.columns, gradient_seed));
    tensors_.push_back(output("x_gradient", shape.heads, shape.columns));
    if (shape.residual) tensors_.push_back(input("sum_gradient", shape.heads, shape.columns, sum_gradient_seed));
  }

  std::string name() const override { return "rms_norm_backward"; }
  std::string shape() const override { return describe(shape_, " with sum_gradient"); }
  std::vector<Tensor> const& tensors() const override { return tensors_; }

  tik_status call(Functions const& functions, std::vector<Place> const& places, int tokens) const override {
    tik_rms_norm_backward_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens;
    args.heads = shape_.heads;
    args.columns = shape_.columns;
    args.epsilon = epsilon;
    args.x = places[0];
    args.weight = places[1].as<tik_bf16>();
    args.out_gradient = places[2];
    args.x_gradient = places[3];
    if (shape_.residual) args.sum_gradient = places[4];
    return functions.rms_norm_backward(&args);
  }

  std::vector<std::vector<double>> exact(int token) const override {
    std::vector<double> const weight = content_of(tensors_[1], 0);
    std::vector<double> const out_gradient = content_of(tensors_[2], token);
    int head = 0;
    auto gradient = by_head(content_of(tensors_[0], token), shape_.columns, [&](auto const& row) {
      auto const first = out_gradient.begin() + head++ * shape_.columns;
      return rms_norm::reference_gradients(row, weight, epsilon, {first, first + shape_.columns}).x;
    });
    if (!shape_.residual) return {gradient};
    std::vector<double> const past = content_of(tensors_[4], token);
    for (std::size_t i = 0; i < past.size(); ++i) gradient[i] += past[i];
    return {gradient};
  }

 private:
  NormShape shape_;
  std::vector<Tensor> tensors_;
};

} // namespace

std::unique_ptr<TokenOperator> make_rms_norm(NormShape const& shape) { return std::make_unique<RmsNorm>(shape); }
std::unique_ptr<TokenOperator> make_rms_norm_backward(NormShape const& shape) {
  return std::make_unique<RmsNormBackward>(shape);
}

} // namespace tik::operators::check
