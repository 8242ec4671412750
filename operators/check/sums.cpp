#include "operators/check/sums.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "operators/check/tensors.h"
#include "operators/rms_norm/reference.h"
#include "operators/rms_norm/validate.h"

namespace tik::operators::check {
namespace {

constexpr float epsilon = 1e-6f;
constexpr std::uint64_t x_seed = 51, gradient_seed = 52, weight_seed = 53, before_seed = 54, id_seed = 55;
constexpr double largest_sum_error = 1e-5; // of fp32 sums of some thousand numbers, as a part of the largest

std::vector<int> token_counts(Extent extent) {
  if (extent == Extent::tiny) return {3, 33};
  if (extent == Extent::brief) return {1, 31, 32, 33, 100};
  return {1, 31, 32, 33, 63, 64, 65, 300, 2047, 2048, 2049};
}

std::vector<tik_bf16> rows_of(Tensor const& tensor, int tokens) {
  std::size_t const row = std::size_t(tensor.heads) * tensor.columns;
  std::vector<tik_bf16> rows(tokens * row);
  for (int token = 0; token < tokens; ++token) tensor.content(token, &rows[token * row]);
  return rows;
}

std::vector<float> sums_before(std::size_t count) {
  std::vector<float> sums(count);
  for (std::size_t i = 0; i < count; ++i) sums[i] = near_normal(mix(before_seed) + i);
  return sums;
}

template <typename Number>
Allocation uploaded(Device& device, std::vector<Number> const& numbers) {
  Allocation memory(device, numbers.size() * sizeof(Number));
  device.upload(memory.memory(), numbers.data(), memory.bytes());
  return memory;
}

std::vector<float> downloaded(Allocation const& memory) {
  std::vector<float> numbers(memory.bytes() / sizeof(float));
  std::vector<unsigned char> const bytes = memory.download();
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

void require(Device const& device, tik_status status) {
  if (status != TIK_OK) throw std::runtime_error(std::string("refused: ") + device.functions().last_error());
}

std::string difference(std::vector<float> const& expected, std::vector<float> const& actual) {
  std::size_t differing = 0, first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&expected[i], &actual[i], sizeof(float)) == 0) continue;
    if (differing++ == 0) first = i;
  }
  if (differing == 0) return "";
  return std::to_string(differing) + " of " + std::to_string(expected.size()) + " sums differ, the first at " +
         std::to_string(first) + ": expected " + std::to_string(expected[first]) + ", got " + std::to_string(actual[first]);
}

double relative_error(std::vector<float> const& actual, std::vector<double> const& exact) {
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(actual[i])) return HUGE_VAL;
    largest = std::max(largest, std::abs(exact[i]));
    error = std::max(error, std::abs(actual[i] - exact[i]));
  }
  return error / largest;
}

// Compares two runs on the device with one of the CPU backend, and that with float64.
template <typename Run>
void compare(Device& device, Run run, std::vector<double> const& exact, std::string const& label, Results& results) {
  HostDevice host;
  std::vector<float> const expected = run(host);
  for (char const* const which : {"", ", again"}) {
    std::string const problem = difference(expected, run(device));
    results.record(problem.empty(), label + which, problem);
  }
  if (!exact.empty()) results.record_error(relative_error(expected, exact), largest_sum_error);
}

class WeightGradient {
 public:
  WeightGradient(int tokens, int heads, int columns)
      : tokens_(tokens),
        heads_(heads),
        columns_(columns),
        x_(rows_of(input("x", heads, columns, x_seed), tokens)),
        out_gradient_(rows_of(input("out_gradient", heads, columns, gradient_seed), tokens)),
        weight_(rows_of(input("weight", 1, columns, weight_seed), 1)),
        before_(sums_before(columns)) {}

  std::vector<float> run(Device& device) const {
    Allocation const x = uploaded(device, x_), out_gradient = uploaded(device, out_gradient_),
                     weight = uploaded(device, weight_);
    Allocation const x_gradient(device, x.bytes()), sums = uploaded(device, before_);
    std::int64_t const needed = rms_norm::backward_workspace_bytes(tokens_, heads_, columns_);
    Allocation workspace(device, static_cast<std::size_t>(needed));
    workspace.poison();
    tik_rms_norm_backward_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens_;
    args.heads = heads_;
    args.columns = columns_;
    args.epsilon = epsilon;
    std::int64_t const row = std::int64_t{heads_} * columns_;
    args.x = {static_cast<tik_bf16 const*>(x.memory()), row, columns_};
    args.weight = static_cast<tik_bf16 const*>(weight.memory());
    args.out_gradient = {static_cast<tik_bf16 const*>(out_gradient.memory()), row, columns_};
    args.x_gradient = {static_cast<tik_bf16*>(x_gradient.memory()), row, columns_};
    args.weight_gradient = static_cast<float*>(sums.memory());
    args.workspace = workspace.memory();
    args.workspace_bytes = workspace.bytes();
    require(device, device.functions().rms_norm_backward(&args));
    return downloaded(sums);
  }

  std::vector<double> exact() const {
    std::vector<double> sums(before_.begin(), before_.end());
    for (std::size_t first = 0; first < x_.size(); first += columns_) {
      auto const row = [&](std::vector<tik_bf16> const& rows) {
        return to_doubles({rows.begin() + std::ptrdiff_t(first), rows.begin() + std::ptrdiff_t(first) + columns_});
      };
      auto const gradients = rms_norm::reference_gradients(row(x_), to_doubles(weight_), epsilon, row(out_gradient_));
      for (int c = 0; c < columns_; ++c) sums[c] += gradients.weight[c];
    }
    return sums;
  }

 private:
  int tokens_, heads_, columns_;
  std::vector<tik_bf16> x_, out_gradient_, weight_;
  std::vector<float> before_;
};

class TableGradient {
 public:
  // Every third token has the same id.
  TableGradient(int tokens, int columns, int vocabulary)
      : tokens_(tokens),
        columns_(columns),
        vocabulary_(vocabulary),
        ids_(tokens),
        out_gradient_(rows_of(input("out_gradient", 1, columns, gradient_seed), tokens)),
        before_(sums_before(std::size_t(columns) * vocabulary)) {
    for (int token = 0; token < tokens; ++token) {
      auto const random = mix(id_seed ^ static_cast<std::uint64_t>(token)) % static_cast<std::uint64_t>(vocabulary);
      ids_[token] = token % 3 == 0 ? vocabulary / 2 : static_cast<std::int32_t>(random);
    }
  }

  std::vector<float> run(Device& device) const {
    Allocation const ids = uploaded(device, ids_), out_gradient = uploaded(device, out_gradient_),
                     sums = uploaded(device, before_);
    tik_embedding_backward_args args{};
    args.struct_bytes = sizeof args;
    args.tokens = tokens_;
    args.columns = columns_;
    args.vocabulary = vocabulary_;
    args.ids = static_cast<std::int32_t const*>(ids.memory());
    args.out_gradient = {static_cast<tik_bf16 const*>(out_gradient.memory()), columns_, 0};
    args.table_gradient = static_cast<float*>(sums.memory());
    args.table_gradient_stride = columns_;
    require(device, device.functions().embedding_backward(&args));
    return downloaded(sums);
  }

  std::vector<double> exact() const {
    std::vector<double> sums(before_.begin(), before_.end());
    for (int token = 0; token < tokens_; ++token) {
      for (int c = 0; c < columns_; ++c)
        sums[std::size_t(ids_[token]) * columns_ + c] += to_float(out_gradient_[std::size_t(token) * columns_ + c]);
    }
    return sums;
  }

 private:
  int tokens_, columns_, vocabulary_;
  std::vector<std::int32_t> ids_;
  std::vector<tik_bf16> out_gradient_;
  std::vector<float> before_;
};

} // namespace

void check_weight_gradient(Device& device, int heads, int columns, CaseOptions const& options, Results& results) {
  results.begin("rms_norm_backward",
                (heads > 1 ? std::to_string(heads) + " heads x " : "") + std::to_string(columns) + ", weight");
  for (int const tokens : token_counts(options.extent)) {
    std::int64_t const elements = std::int64_t{tokens} * heads * columns;
    if (elements > 9'000'000) continue;
    WeightGradient const gradient(tokens, heads, columns);
    bool const costly = elements > 3'000'000; // float64 takes longer than the rest
    compare(
        device, [&](Device& on) { return gradient.run(on); }, costly ? std::vector<double>{} : gradient.exact(),
        std::to_string(tokens) + " tokens", results);
  }
}

void check_table_gradient(Device& device, int columns, int vocabulary, CaseOptions const& options, Results& results) {
  results.begin("embedding_backward", std::to_string(vocabulary) + " x " + std::to_string(columns));
  for (int const tokens : token_counts(options.extent)) {
    TableGradient const gradient(tokens, columns, vocabulary);
    compare(
        device, [&](Device& on) { return gradient.run(on); }, gradient.exact(), std::to_string(tokens) + " tokens", results);
  }
}

} // namespace tik::operators::check
