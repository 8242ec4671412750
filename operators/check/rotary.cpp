#include <cstdint>
#include <stdexcept>

#include "operators/check/operators.h"
#include "operators/check/tensors.h"
#include "operators/rotary/reference.h"

namespace tik::operators::check {
namespace {

constexpr std::uint64_t query_seed = 31, key_seed = 32, position_seed = 33;
constexpr int padding_period = 17; // every so many tokens one is padding

class Rotary final : public TokenOperator {
 public:
  explicit Rotary(RotaryShape const& shape) : shape_(shape), table_(rotary_table(shape)) {
    auto const position = [positions = shape.positions](int token) {
      if (token % padding_period == padding_period - 1) return -1;
      return static_cast<std::int32_t>(mix(position_seed ^ static_cast<std::uint64_t>(token)) %
                                       static_cast<std::uint64_t>(positions));
    };
    int const elements = shape.positions * shape.head_dim;
    tensors_ = {input("queries", shape.query_heads, shape.head_dim, query_seed),
                output("queries_out", shape.query_heads, shape.head_dim),
                number("positions", position),
                {"table", Element::fp32, 1, elements, false, true, [shape](int, void* row) {
                   tik_rotary_table_args args = rotary_table(shape);
                   args.table = static_cast<float*>(row);
                   if (cpu::rotary_table(&args) != TIK_OK) throw std::runtime_error(cpu::last_error());
                 }}};
    if (shape.key_heads == 0) return;
    tensors_.push_back(input("keys", shape.key_heads, shape.head_dim, key_seed));
    tensors_.push_back(output("keys_out", shape.key_heads, shape.head_dim));
  }

  std::string name() const override { return shape_.inverse ? "rotary_inverse" : "rotary"; }
  std::string shape() const override {
    return std::to_string(shape_.query_heads) + "/" + std::to_string(shape_.key_heads) + "x" + std::to_string(shape_.head_dim) +
           (shape_.yarn ? " YaRN" : "");
  }
  std::vector<Tensor> const& tensors() const override { return tensors_; }

  tik_status call(Functions const& functions, std::vector<Place> const& places, int tokens) const override {
    tik_rotary_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens;
    args.query_heads = shape_.query_heads;
    args.key_heads = shape_.key_heads;
    args.head_dim = shape_.head_dim;
    args.inverse = shape_.inverse;
    args.settled = tokens % 2; // never shows
    args.table_positions = shape_.positions;
    args.queries = places[0];
    args.queries_out = places[1];
    args.positions = places[2].as<std::int32_t>();
    args.table = places[3].as<float>();
    if (shape_.key_heads > 0) {
      args.keys = places[4];
      args.keys_out = places[5];
    }
    return functions.rotary(&args);
  }

  std::vector<std::vector<double>> exact(int token) const override {
    std::int32_t position = 0;
    tensors_[2].content(token, &position);
    auto const rotated = [&](Tensor const& tensor) -> std::vector<double> {
      if (position < 0) return {};
      return by_head(content_of(tensor, token), shape_.head_dim,
                     [&](auto const& row) { return rotary::reference(row, position, table_, shape_.inverse); });
    };
    if (shape_.key_heads == 0) return {rotated(tensors_[0])};
    return {rotated(tensors_[0]), rotated(tensors_[4])};
  }

 private:
  RotaryShape shape_;
  tik_rotary_table_args table_;
  std::vector<Tensor> tensors_;
};

} // namespace

tik_rotary_table_args rotary_table(RotaryShape const& shape) {
  tik_rotary_table_args args{};
  args.struct_bytes = sizeof args;
  args.positions = shape.positions;
  args.head_dim = shape.head_dim;
  args.base = 1e6;
  if (!shape.yarn) return args;
  args.scaling = TIK_ROTARY_YARN;
  args.factor = 4;
  args.original_positions = 32768;
  args.beta_fast = 32;
  args.beta_slow = 1;
  return args;
}

std::unique_ptr<TokenOperator> make_rotary(RotaryShape const& shape) { return std::make_unique<Rotary>(shape); }

} // namespace tik::operators::check
