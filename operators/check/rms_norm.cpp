#include "operators/check/operators.h"
#include "operators/check/source.h"
#include "operators/rms_norm/contract.h"
#include "operators/rms_norm/reference.h"

namespace tik::operators::check {
namespace {

constexpr std::uint64_t x_seed = 11, residual_seed = 12, weight_seed = 13, gradient_seed = 14, sum_gradient_seed = 15;

std::function<void(int, void*)> rows(int elements, std::uint64_t seed, Distribution distribution) {
  return [=](int token, void* row) { write_row(static_cast<tik_bf16*>(row), elements, seed, token, distribution); };
}

std::vector<double> to_doubles(tik_bf16 const* row, int count) {
  std::vector<double> values(count);
  for (int i = 0; i < count; ++i) values[i] = to_float(row[i]);
  return values;
}

class RmsNorm final : public TokenOperator {
 public:
  RmsNorm(int heads, int columns, bool residual, Distribution distribution)
      : heads_(heads), columns_(columns), residual_(residual), distribution_(distribution) {
    int const elements = heads * columns;
    tensors_.push_back({"x", Element::bf16, heads, columns, false, false, rows(elements, x_seed, distribution)});
    tensors_.push_back({"weight", Element::bf16, 1, columns, false, true, rows(columns, weight_seed, Distribution::normal)});
    tensors_.push_back({"out", Element::bf16, heads, columns, true, false, {}});
    if (!residual) return;
    tensors_.push_back({"residual", Element::bf16, heads, columns, false, false, rows(elements, residual_seed, distribution)});
    tensors_.push_back({"sum", Element::bf16, heads, columns, true, false, {}});
  }

  std::string name() const override { return "rms_norm"; }
  std::string shape() const override {
    return (heads_ > 1 ? std::to_string(heads_) + " heads x " : "") + std::to_string(columns_) +
           (residual_ ? " with residual" : "") + (distribution_ == Distribution::normal ? "" : ", wide exponents");
  }
  std::vector<Tensor> const& tensors() const override { return tensors_; }

  tik_status call(Functions const& functions, std::vector<Place> const& places, int tokens) const override {
    tik_rms_norm_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens;
    args.heads = heads_;
    args.columns = columns_;
    args.epsilon = epsilon_;
    args.x = places[0];
    args.weight = places[1].as<tik_bf16>();
    args.out = places[2];
    if (residual_) {
      args.residual = places[3];
      args.sum = places[4];
    }
    return functions.rms_norm(&args);
  }

  std::vector<std::vector<double>> exact(int token) const override {
    int const elements = heads_ * columns_;
    std::vector<tik_bf16> x(elements), residual(elements), weight(columns_);
    tensors_[0].content(token, x.data());
    tensors_[1].content(0, weight.data());
    std::vector<double> sum = to_doubles(x.data(), elements);
    std::vector<double> normalized_from = sum;
    if (residual_) {
      tensors_[3].content(token, residual.data());
      for (int i = 0; i < elements; ++i) {
        sum[i] += to_float(residual[i]);
        normalized_from[i] = to_float(to_bf16(static_cast<float>(sum[i]))); // what is normalised is the sum as it is stored
      }
    }
    std::vector<double> out;
    for (int head = 0; head < heads_; ++head) {
      auto const first = normalized_from.begin() + head * columns_;
      auto const row = rms_norm::reference({first, first + columns_}, to_doubles(weight.data(), columns_), epsilon_);
      out.insert(out.end(), row.begin(), row.end());
    }
    if (!residual_) return {out};
    return {out, sum};
  }

 private:
  int heads_, columns_;
  bool residual_;
  Distribution distribution_;
  float epsilon_ = 1e-6f;
  std::vector<Tensor> tensors_;
};

} // namespace

std::unique_ptr<TokenOperator> make_rms_norm(int heads, int columns, bool residual, Distribution distribution) {
  return std::make_unique<RmsNorm>(heads, columns, residual, distribution);
}

} // namespace tik::operators::check
