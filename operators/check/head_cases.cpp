#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "operators/check/dense_cases.h"
#include "operators/check/dense_matrix.h"
#include "operators/language_model_head/reference.h"
#include "operators/language_model_head/workspace.h"

namespace tik::operators::check {
namespace {

constexpr std::uint64_t x_seed = 71, weight_seed = 72, target_seed = 73;

class HeadCases {
 public:
  HeadCases(Device& device, HeadShape const& shape, DenseOptions const& options, Results& results)
      : device_(device),
        shape_(shape),
        options_(options),
        results_(results),
        extent_(dense_extent(options.extent)),
        rows_(extent_.large.empty() ? extent_.alone : extent_.large.back()),
        x_(device, rows_, shape.in_features, 8),
        weight_(device, shape.vocabulary, shape.in_features, 0),
        targets_(device, rows_, 1, 0),
        logits_(device, extent_.alone, shape.vocabulary, 8),
        workspace_(device, language_model_head::forward_regions(rows_, shape.vocabulary).bytes),
        expected_(device, extent_.alone),
        out_(device, rows_) {
    // Logits of a few units: the variance of a product of normals grows with in_features.
    float const scale = 4 / std::sqrt(static_cast<float>(shape.in_features));
    x_.write([&](int row) { return random_row(shape.in_features, x_seed, row % extent_.alone); });
    weight_.write([&](int row) { return random_row(shape.in_features, weight_seed, row, scale); });
    targets_.write([&](int row) { return std::vector<std::int32_t>{target_of(row % extent_.alone)}; });
  }

  void run() {
    for (int row = 0; row < extent_.alone; ++row) {
      if (call(row, 1, expected_) != TIK_OK) throw std::runtime_error(device_.functions().last_error());
    }
    for (int i = 0; i < 3; ++i) wanted_.push_back(expected_.of[i].download());
    for (int count = 1; count <= extent_.alone; count += extent_.count_step) whole(0, count);
    for (int const count : extent_.large) whole(0, count);
    for (int repeat = 0; repeat < extent_.repeats; ++repeat) whole(0, extent_.alone);
    Random random(options_.seed);
    for (int window = 0; window < extent_.windows; ++window) {
      int const first = random.between(0, extent_.alone - 1);
      whole(first, random.between(1, extent_.alone - first));
      from_logits(random.between(1, extent_.alone));
    }
    accuracy();
  }

 private:
  // log_probability, entropy, log_sum of every row.
  struct Outputs {
    Matrix<float> of[3];
    Outputs(Device& device, int rows) : of{{device, rows, 1, 0}, {device, rows, 1, 0}, {device, rows, 1, 0}} {}
  };

  // A negative target now and then.
  int target_of(int row) const {
    if (row % 17 == 5) return -1;
    return static_cast<int>(mix(target_seed + static_cast<std::uint64_t>(row)) % static_cast<std::uint64_t>(shape_.vocabulary));
  }
  tik_log_probability_outputs places(int first, Outputs& outputs) const {
    return {targets_.row(first), outputs.of[0].row(first), outputs.of[1].row(first), outputs.of[2].row(first)};
  }

  tik_status call(int first, int tokens, Outputs& outputs) {
    tik_language_model_head_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens;
    args.in_features = shape_.in_features;
    args.vocabulary = shape_.vocabulary;
    args.temperature = shape_.temperature;
    args.x = {x_.row(first), x_.stride(), 0};
    args.weight = {weight_.row(0), weight_.stride(), 0};
    args.outputs = places(first, outputs);
    args.workspace = workspace_.memory();
    args.workspace_bytes = workspace_.bytes();
    return device_.functions().language_model_head(&args);
  }

  void whole(int first, int count) {
    for (auto& output : out_.of) output.poison();
    tik_status const status = call(first, count, out_);
    finish(status, first, count, std::to_string(count) + " tokens from " + std::to_string(first));
  }

  // As a rollout has it: logits by dense linear, then their log-probabilities.
  void from_logits(int count) {
    for (auto& output : out_.of) output.poison();
    tik_linear_args product{};
    product.struct_bytes = sizeof product;
    product.tokens = count;
    product.in_features = shape_.in_features;
    product.out_features = shape_.vocabulary;
    product.x = {x_.row(0), x_.stride(), 0};
    product.weight = {weight_.row(0), weight_.stride(), 0};
    product.out = logits_.row(0);
    product.out_stride = logits_.stride();
    product.out_type = TIK_FP32;
    tik_status status = device_.functions().linear(&product);
    tik_token_log_probability_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = count;
    args.vocabulary = shape_.vocabulary;
    args.temperature = shape_.temperature;
    args.logits = logits_.row(0);
    args.logits_stride = logits_.stride();
    args.outputs = places(0, out_);
    args.workspace = workspace_.memory();
    args.workspace_bytes = workspace_.bytes();
    if (status == TIK_OK) status = device_.functions().token_log_probability(&args);
    finish(status, 0, count, std::to_string(count) + " tokens from logits");
  }

  void finish(tik_status status, int first, int count, std::string const& what) {
    std::string problem;
    if (status != TIK_OK) problem = std::string("refused: ") + device_.functions().last_error();
    char const* const names[] = {"log_probability", "entropy", "log_sum"};
    for (int i = 0; i < 3 && problem.empty(); ++i) {
      problem = out_.of[i].compare(wanted_[i], first, count, [&](int row) { return row % extent_.alone; });
      if (!problem.empty()) problem = std::string(names[i]) + ": " + problem;
    }
    results_.record(problem.empty(), what, problem);
  }

  void accuracy() {
    double worst = 0;
    float const scale = 4 / std::sqrt(static_cast<float>(shape_.in_features));
    for (int token = 0; token < extent_.accurate; ++token) {
      std::vector<tik_bf16> const x = random_row(shape_.in_features, x_seed, token);
      std::vector<double> z(shape_.vocabulary);
      for (int v = 0; v < shape_.vocabulary; ++v) {
        std::vector<tik_bf16> const weight = random_row(shape_.in_features, weight_seed, v, scale);
        for (int k = 0; k < shape_.in_features; ++k) z[v] += static_cast<double>(to_float(x[k])) * to_float(weight[k]);
        z[v] /= shape_.temperature;
      }
      auto const exact = language_model_head::reference_row(z, target_of(token));
      double const values[] = {exact.log_probability, exact.entropy, exact.log_sum};
      for (int i = 0; i < 3; ++i) {
        double const error = std::abs(wanted_[i].number(token, 0) - values[i]) / std::max(1.0, std::abs(values[i]));
        worst = std::max(worst, std::isfinite(error) ? error : HUGE_VAL);
      }
    }
    results_.record_error(worst, 2e-5);
  }

  Device& device_;
  HeadShape shape_;
  DenseOptions options_;
  Results& results_;
  DenseExtent extent_;
  int rows_;
  Matrix<tik_bf16> x_, weight_;
  Matrix<std::int32_t> targets_;
  Matrix<float> logits_;
  Allocation workspace_;
  Outputs expected_, out_;
  std::vector<Matrix<float>::Image> wanted_;
};

} // namespace

std::string describe(HeadShape const& shape) {
  return std::to_string(shape.in_features) + " to " + std::to_string(shape.vocabulary) +
         (shape.of_vocabulary > 0 ? " of " + std::to_string(shape.of_vocabulary) : "") +
         (shape.temperature == 1 ? "" : ", temperature " + std::to_string(shape.temperature));
}

void check_language_model_head(Device& device, HeadShape const& shape, DenseOptions const& options, Results& results) {
  results.begin("language_model_head", describe(shape));
  HeadCases(device, shape, options, results).run();
}

} // namespace tik::operators::check
