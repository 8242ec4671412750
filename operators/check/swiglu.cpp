#include <cstdint>

#include "operators/check/operators.h"
#include "operators/check/tensors.h"
#include "operators/swiglu/reference.h"

namespace tik::operators::check {
namespace {

constexpr std::uint64_t gate_seed = 21, up_seed = 22, gradient_seed = 23;

std::string describe(int columns, Distribution distribution) {
  return std::to_string(columns) + (distribution == Distribution::normal ? "" : ", large gates");
}

class Swiglu final : public TokenOperator {
 public:
  Swiglu(int columns, Distribution distribution) : columns_(columns), distribution_(distribution) {
    tensors_ = {input("gate", 1, columns, gate_seed, distribution), input("up", 1, columns, up_seed),
                output("out", 1, columns)};
  }
  std::string name() const override { return "swiglu"; }
  std::string shape() const override { return describe(columns_, distribution_); }
  std::vector<Tensor> const& tensors() const override { return tensors_; }

  tik_status call(Functions const& functions, std::vector<Place> const& places, int tokens) const override {
    tik_swiglu_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens;
    args.columns = columns_;
    args.gate = places[0];
    args.up = places[1];
    args.out = places[2];
    return functions.swiglu(&args);
  }

  std::vector<std::vector<double>> exact(int token) const override {
    std::vector<double> out = content_of(tensors_[0], token);
    std::vector<double> const up = content_of(tensors_[1], token);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = swiglu::reference(out[i], up[i]);
    return {out};
  }

 private:
  int columns_;
  Distribution distribution_;
  std::vector<Tensor> tensors_;
};

class SwigluBackward final : public TokenOperator {
 public:
  SwigluBackward(int columns, Distribution distribution) : columns_(columns), distribution_(distribution) {
    tensors_ = {input("gate", 1, columns, gate_seed, distribution), input("up", 1, columns, up_seed),
                input("out_gradient", 1, columns, gradient_seed), output("gate_gradient", 1, columns),
                output("up_gradient", 1, columns)};
  }
  std::string name() const override { return "swiglu_backward"; }
  std::string shape() const override { return describe(columns_, distribution_); }
  std::vector<Tensor> const& tensors() const override { return tensors_; }

  tik_status call(Functions const& functions, std::vector<Place> const& places, int tokens) const override {
    tik_swiglu_backward_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens;
    args.columns = columns_;
    args.gate = places[0];
    args.up = places[1];
    args.out_gradient = places[2];
    args.gate_gradient = places[3];
    args.up_gradient = places[4];
    return functions.swiglu_backward(&args);
  }

  std::vector<std::vector<double>> exact(int token) const override {
    std::vector<double> gate = content_of(tensors_[0], token), up = content_of(tensors_[1], token);
    std::vector<double> const out_gradient = content_of(tensors_[2], token);
    for (std::size_t i = 0; i < gate.size(); ++i) {
      auto const gradients = swiglu::reference_gradients(gate[i], up[i], out_gradient[i]);
      gate[i] = gradients.gate;
      up[i] = gradients.up;
    }
    return {gate, up};
  }

 private:
  int columns_;
  Distribution distribution_;
  std::vector<Tensor> tensors_;
};

} // namespace

std::unique_ptr<TokenOperator> make_swiglu(int columns, Distribution distribution) {
  return std::make_unique<Swiglu>(columns, distribution);
}
std::unique_ptr<TokenOperator> make_swiglu_backward(int columns, Distribution distribution) {
  return std::make_unique<SwigluBackward>(columns, distribution);
}

} // namespace tik::operators::check
