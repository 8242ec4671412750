#include "operators/check/token_cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "operators/check/source.h"
#include "operators/check/token_buffers.h"

namespace tik::operators::check {
namespace {

// Sizes of an extent.
struct Sizes {
  int counts; // every number of tokens up to here, in steps
  int count_step;
  int alone_step;         // every such token alone
  std::vector<int> large; // numbers of tokens around those where another kernel or grid may take over
  int windows;            // random windows of a layout
  int repeats;
  int accurate; // tokens compared with float64
};

Sizes sizes_of(Extent extent) {
  switch (extent) {
    case Extent::tiny:
      return {5, 2, 3, {}, 1, 2, 2};
    case Extent::brief:
      return {64, 7, 13, {133, 300, 397}, 3, 5, 8};
    case Extent::thorough:
      return {300, 1, 7, {396, 397, 513, 660, 661, 1267, 1268, 3620, 3621}, 6, 20, 24};
  }
  return {};
}

constexpr std::size_t wide_row = 36 << 10; // bytes of a token's outputs; of wider ones not every number of tokens is tried
constexpr std::size_t largest_call = std::size_t{64} << 20; // bytes of all tensors: keeps a case within milliseconds

std::vector<int> iota(int count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

class Cases {
 public:
  Cases(Device& device, TokenOperator const& checked, CaseOptions const& options, Results& results)
      : device_(device), checked_(checked), options_(options), results_(results), sizes_(sizes_of(options.extent)) {
    std::size_t row_bytes = 0;
    for (Tensor const& tensor : checked.tensors()) {
      outputs_ += tensor.output;
      if (tensor.output) row_bytes += tensor.row_bytes();
    }
    if (row_bytes > wide_row) sizes_.count_step = std::max(sizes_.count_step, 7);
  }

  void run() {
    results_.begin(checked_.name(), checked_.shape());
    expect(sizes_.counts);
    TokenBuffers dense(device_, checked_, {}, iota(sizes_.counts));
    for (int count = 1; count <= sizes_.counts; count += sizes_.count_step)
      check(dense, 0, count, std::to_string(count) + " tokens");
    for (int token = 0; token < sizes_.counts; token += sizes_.alone_step)
      check(dense, token, 1, "token " + std::to_string(token) + " alone");
    for (int repeat = 0; repeat < sizes_.repeats; ++repeat) check(dense, 0, sizes_.counts, "repeat " + std::to_string(repeat));
    finish(dense, "tokens first");
    check_layouts();
    check_large();
    measure_accuracy();
  }

 private:
  // Expected rows of the first `tokens` tokens, each computed alone.
  void expect(int tokens) {
    HostDevice host;
    Device& by = checked_.same_bits_everywhere() ? host : device_;
    TokenBuffers alone(by, checked_, {}, iota(tokens));
    expected_.assign(outputs_, Rows(tokens));
    for (int token = 0; token < tokens; ++token) {
      auto rows = alone.run_alone(token);
      for (int output = 0; output < outputs_; ++output) expected_[output][token] = std::move(rows[output]);
    }
  }

  void check(TokenBuffers& buffers, int first, int count, std::string const& what) {
    std::string problem;
    if (buffers.run(first, count) != TIK_OK)
      problem = std::string("refused: ") + device_.functions().last_error();
    else
      problem = buffers.compare(expected_, first, count);
    results_.record(problem.empty(), what, problem);
  }

  void finish(TokenBuffers& buffers, std::string const& what) {
    std::string const problem = buffers.compare_inputs();
    results_.record(problem.empty(), what + ", inputs afterwards", problem);
  }

  // Other strides, tokens in another order, any part of them.
  void check_layouts() {
    Random random(options_.seed);
    for (Layout const layout : {Layout{8, false}, Layout{4096, false}, Layout{0, true}, Layout{64, true}}) {
      std::vector<int> tokens = iota(sizes_.counts);
      for (std::size_t i = tokens.size(); i > 1; --i) std::swap(tokens[i - 1], tokens[random.next() % i]);
      TokenBuffers buffers(device_, checked_, layout, tokens);
      for (int window = 0; window < sizes_.windows; ++window) {
        int const first = random.between(0, sizes_.counts - 1);
        int const count = random.between(1, sizes_.counts - first);
        check(buffers, first, count,
              describe(layout) + ", " + std::to_string(count) + " mixed tokens from slot " + std::to_string(first));
      }
      finish(buffers, describe(layout));
    }
  }

  // More tokens than were computed alone: the known ones come again and again.
  void check_large() {
    std::size_t bytes = 0;
    for (Tensor const& tensor : checked_.tensors()) bytes += tensor.shared ? 0 : tensor.row_bytes();
    std::vector<int> counts = sizes_.large;
    std::erase_if(counts, [&](int count) { return count * bytes > largest_call; });
    if (counts.empty()) return;
    std::vector<int> tokens(counts.back());
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int>(i) % sizes_.counts;
    TokenBuffers buffers(device_, checked_, {}, tokens);
    for (int const count : counts) check(buffers, 0, count, std::to_string(count) + " tokens");
    finish(buffers, "many tokens");
  }

  void measure_accuracy() {
    double largest_error = 0;
    for (int i = 0; i < std::min(sizes_.accurate, sizes_.counts); ++i) {
      int const token = i * sizes_.counts / sizes_.accurate;
      auto const exact = checked_.exact(token);
      int output = 0;
      for (Tensor const& tensor : checked_.tensors()) {
        if (!tensor.output) continue;
        if (!exact[output].empty())
          largest_error = std::max(largest_error, row_error(tensor.element, expected_[output][token], exact[output]));
        ++output;
      }
    }
    results_.record_error(largest_error, checked_.tolerance());
  }

  Device& device_;
  TokenOperator const& checked_;
  CaseOptions options_;
  Results& results_;
  Sizes sizes_;
  int outputs_ = 0;
  std::vector<Rows> expected_; // by output, by token
};

} // namespace

double row_error(Element element, std::vector<unsigned char> const& row, std::vector<double> const& exact) {
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    float value = 0;
    if (element == Element::bf16) {
      tik_bf16 bits = 0;
      std::memcpy(&bits, &row[i * 2], 2);
      value = to_float(bits);
    } else {
      std::memcpy(&value, &row[i * 4], 4);
    }
    if (!std::isfinite(value)) return HUGE_VAL;
    largest = std::max(largest, std::abs(exact[i]));
    error = std::max(error, std::abs(value - exact[i]));
  }
  return largest == 0 ? error : error / largest;
}

void check_token_operator(Device& device, TokenOperator const& checked, CaseOptions const& options, Results& results) {
  Cases(device, checked, options, results).run();
}

} // namespace tik::operators::check
