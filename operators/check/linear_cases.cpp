#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <stdexcept>

#include "operators/check/dense_cases.h"
#include "operators/check/dense_matrix.h"
#include "operators/linear/reference.h"

namespace tik::operators::check {
namespace {

constexpr std::uint64_t x_seed = 61, weight_seed = 62, bias_seed = 63;

// Out of a call, as float.
float to_number(tik_bf16 x) { return to_float(x); }
float to_number(float x) { return x; }

template <typename Out>
class LinearCases {
 public:
  LinearCases(Device& device, LinearShape const& shape, DenseOptions const& options, Results& results)
      : device_(device),
        shape_(shape),
        options_(options),
        results_(results),
        extent_(dense_extent(options.extent)),
        rows_(extent_.large.empty() ? extent_.alone : extent_.large.back()),
        x_(device, rows_, shape.in_features, shape.gap),
        weight_(device, shape.out_features, shape.in_features, shape.gap),
        bias_(device, 1, shape.out_features, 0),
        workspace_(device, TIK_LINEAR_WORKSPACE_BYTES),
        expected_(device, extent_.alone, shape.out_features, shape.gap),
        out_(device, extent_.alone, shape.out_features, shape.gap),
        many_(device, rows_, shape.out_features, shape.gap) {
    x_.write([&](int row) { return random_row(shape.in_features, x_seed, row % extent_.alone); });
    weight_.write([&](int row) { return random_row(shape.in_features, weight_seed, row); });
    bias_.write([&](int row) { return random_row(shape.out_features, bias_seed, row, 4); });
  }

  void run() {
    for (int row = 0; row < extent_.alone; ++row) {
      if (call(row, 1, 0, shape_.out_features, expected_.row(row)) != TIK_OK)
        throw std::runtime_error(device_.functions().last_error());
    }
    wanted_ = expected_.download();
    for (int count = 1; count <= extent_.alone; count += extent_.count_step) whole(0, count);
    for (int const count : extent_.large) whole(0, count);
    for (int repeat = 0; repeat < extent_.repeats; ++repeat) whole(0, extent_.alone);
    Random random(options_.seed);
    for (int window = 0; window < extent_.windows; ++window) {
      int const first = random.between(0, extent_.alone - 1);
      whole(first, random.between(1, extent_.alone - first));
      parts(random.between(1, extent_.alone), random.between(1, shape_.out_features / 8 - 1) * 8);
    }
    plan();
    accuracy();
  }

 private:
  // Columns first_column.. of `tokens` rows from `first`, to `out`, which is the place of the first column.
  tik_linear_args args_of(int first, int tokens, int first_column, int columns, Out* out) {
    tik_linear_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens;
    args.in_features = shape_.in_features;
    args.out_features = columns;
    args.x = {x_.row(first), x_.stride(), 0};
    args.weight = {weight_.row(first_column), weight_.stride(), 0};
    args.bias = shape_.bias ? bias_.row(0) + first_column : nullptr;
    args.out = out;
    args.out_stride = out_.stride();
    args.out_type = sizeof(Out) == 4 ? TIK_FP32 : TIK_BF16;
    args.weight_settled = tokens % 2;
    args.workspace = tokens % 3 == 0 ? nullptr : workspace_.memory();
    return args;
  }

  tik_status call(int first, int tokens, int first_column, int columns, Out* out) {
    tik_linear_args const args = args_of(first, tokens, first_column, columns, out);
    return device_.functions().linear(&args);
  }

  // A line of text, and nothing written behind its place.
  void plan() {
    constexpr char untouched = '\n';
    char text[TIK_LINEAR_PLAN_BYTES + 1];
    std::fill(std::begin(text), std::end(text), untouched);
    tik_linear_plan_args const args{sizeof args, args_of(0, 1, 0, shape_.out_features, out_.row(0)), text};
    tik_status const status = device_.functions().linear_plan(&args);
    auto const length = static_cast<std::size_t>(std::find(text, text + TIK_LINEAR_PLAN_BYTES, '\0') - text);
    bool const line = length > 0 && length < TIK_LINEAR_PLAN_BYTES && text[TIK_LINEAR_PLAN_BYTES] == untouched &&
                      std::find(text, text + length, untouched) == text + length;
    results_.record(status == TIK_OK && line, "the plan",
                    status == TIK_OK ? "the text is not one line that ends with a zero"
                                     : std::string("refused: ") + device_.functions().last_error());
  }

  void whole(int first, int count) {
    Matrix<Out>& out = first + count <= extent_.alone ? out_ : many_;
    out.poison();
    tik_status const status = call(first, count, 0, shape_.out_features, out.row(first));
    finish(status, out, first, count, std::to_string(count) + " tokens from " + std::to_string(first));
  }

  // The columns in two calls, cut at `cut`.
  void parts(int count, int cut) {
    out_.poison();
    tik_status status = call(0, count, 0, cut, out_.row(0));
    if (status == TIK_OK) status = call(0, count, cut, shape_.out_features - cut, out_.row(0) + cut);
    finish(status, out_, 0, count, std::to_string(count) + " tokens, columns cut at " + std::to_string(cut));
  }

  void finish(tik_status status, Matrix<Out> const& out, int first, int count, std::string const& what) {
    std::string problem;
    if (status != TIK_OK)
      problem = std::string("refused: ") + device_.functions().last_error();
    else
      problem = out.compare(wanted_, first, count, [&](int row) { return row % extent_.alone; });
    results_.record(problem.empty(), what, problem);
  }

  // Relative to the largest output. A step of the tensor cores cuts its sum below the 24th bit instead of rounding it, so that
  // errors grow with the number of steps; a few more cover the products inside short chains.
  static double largest_chain_error(int in_features) { return (in_features / 16 + 4) * 0x1p-24; }

  void accuracy() {
    double worst = 0;
    auto const doubles = [](std::vector<tik_bf16> const& row) {
      std::vector<double> values(row.size());
      std::transform(row.begin(), row.end(), values.begin(), [](tik_bf16 value) { return to_float(value); });
      return values;
    };
    std::vector<double> weight;
    for (int n = 0; n < shape_.out_features; ++n) {
      auto const row = doubles(random_row(shape_.in_features, weight_seed, n));
      weight.insert(weight.end(), row.begin(), row.end());
    }
    auto const bias = shape_.bias ? doubles(random_row(shape_.out_features, bias_seed, 0, 4)) : std::vector<double>{};
    for (int token = 0; token < extent_.accurate; ++token) {
      auto const exact = linear::reference({1, shape_.in_features, shape_.out_features},
                                           doubles(random_row(shape_.in_features, x_seed, token)), weight, bias);
      double largest = 0, error = 0;
      for (int n = 0; n < shape_.out_features; ++n) {
        largest = std::max(largest, std::abs(exact[n]));
        error = std::max(error, std::abs(to_number(wanted_.number(token, n)) - exact[n]));
      }
      worst = std::max(worst, error / largest);
    }
    results_.record_error(worst, sizeof(Out) == 4 ? largest_chain_error(shape_.in_features) : 0x1p-8);
  }

  Device& device_;
  LinearShape shape_;
  DenseOptions options_;
  Results& results_;
  DenseExtent extent_;
  int rows_;
  Matrix<tik_bf16> x_, weight_, bias_;
  Allocation workspace_;
  Matrix<Out> expected_, out_, many_; // many_: for more tokens than are known alone
  typename Matrix<Out>::Image wanted_;
};

} // namespace

std::string describe(LinearShape const& shape) {
  return std::to_string(shape.in_features) + " to " + std::to_string(shape.out_features) +
         (shape.of_features > 0 ? " of " + std::to_string(shape.of_features) : "") + (shape.bias ? " with bias" : "") +
         (shape.fp32 ? ", fp32" : "") + (shape.gap > 0 ? ", gap " + std::to_string(shape.gap) : "");
}

void check_linear(Device& device, LinearShape const& shape, DenseOptions const& options, Results& results) {
  results.begin("linear", describe(shape));
  if (shape.fp32)
    LinearCases<float>(device, shape, options, results).run();
  else
    LinearCases<tik_bf16>(device, shape, options, results).run();
}

} // namespace tik::operators::check
