#include <cstdint>

#include "operators/check/operators.h"
#include "operators/check/tensors.h"

namespace tik::operators::check {
namespace {

constexpr std::uint64_t table_seed = 41, id_seed = 42;

class Embedding final : public TokenOperator {
 public:
  Embedding(int columns, int vocabulary) : columns_(columns), vocabulary_(vocabulary) {
    tensors_ = {number("ids", [vocabulary](int token) { return id_of(token, vocabulary); }),
                shared_input("table", columns * vocabulary, table_seed), output("out", 1, columns)};
  }
  std::string name() const override { return "embedding"; }
  std::string shape() const override { return std::to_string(vocabulary_) + " x " + std::to_string(columns_); }
  std::vector<Tensor> const& tensors() const override { return tensors_; }

  tik_status call(Functions const& functions, std::vector<Place> const& places, int tokens) const override {
    tik_embedding_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens;
    args.columns = columns_;
    args.vocabulary = vocabulary_;
    args.ids = places[0].as<std::int32_t>();
    args.table = {places[1].as<tik_bf16>(), columns_, 0};
    args.out = places[2];
    return functions.embedding(&args);
  }

  std::vector<std::vector<double>> exact(int token) const override {
    std::vector<double> const table = content_of(tensors_[1], 0);
    auto const first = table.begin() + std::ptrdiff_t{id_of(token, vocabulary_)} * columns_;
    return {{first, first + columns_}};
  }
  double tolerance() const override { return 0; }

 private:
  static std::int32_t id_of(int token, int vocabulary) {
    return static_cast<std::int32_t>(mix(id_seed ^ static_cast<std::uint64_t>(token)) % static_cast<std::uint64_t>(vocabulary));
  }
  int columns_, vocabulary_;
  std::vector<Tensor> tensors_;
};

} // namespace

std::unique_ptr<TokenOperator> make_embedding(int columns, int vocabulary) {
  return std::make_unique<Embedding>(columns, vocabulary);
}

} // namespace tik::operators::check
