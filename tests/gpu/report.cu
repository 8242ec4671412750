#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "tests/gpu/report.h"

namespace tik::gpu_suite {
namespace {

constexpr int failures_shown = 10; // of a kind

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

float as_float(uint16_t bits) {
  uint32_t const wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

std::string difference(char const* what, int64_t differing, int64_t total, std::string const& where, uint32_t expected,
                       uint32_t actual, float expected_value, float actual_value) {
  char text[256];
  std::snprintf(text, sizeof(text), "%s: %lld of %lld differ, first at %s: expected %08x (%g), got %08x (%g)", what,
                static_cast<long long>(differing), static_cast<long long>(total), where.c_str(), expected, expected_value,
                actual, actual_value);
  return text;
}

// Describes how two spans of bits differ; empty when they do not.
template <typename Bits, typename Where, typename Value>
std::string differences(char const* what, Bits const* expected, Bits const* actual, int64_t count, Where where, Value value) {
  if (std::memcmp(expected, actual, count * sizeof(Bits)) == 0) return "";
  int64_t first = -1;
  int64_t differing = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (expected[i] == actual[i]) continue;
    if (first < 0) first = i;
    ++differing;
  }
  return difference(what, differing, count, where(first), expected[first], actual[first], value(expected[first]),
                    value(actual[first]));
}

} // namespace

void Report::record(std::string const& kind, bool passed, std::string const& label, std::string const& detail) {
  Count& count = counts_[kind];
  if (std::find(order_.begin(), order_.end(), kind) == order_.end()) order_.push_back(kind);
  ++(passed ? count.passed : count.failed);
  if (!passed && count.failed <= failures_shown)
    std::printf("FAILED %s: %s: %s\n", kind.c_str(), label.c_str(), detail.c_str());
  if (!passed && count.failed == failures_shown) std::printf("FAILED %s: further failures are counted only\n", kind.c_str());
  std::fflush(stdout);
}

void Report::skip(std::string const& kind, std::string const& why) {
  if (std::find(order_.begin(), order_.end(), kind) == order_.end()) order_.push_back(kind);
  ++counts_[kind].skipped;
  std::printf("skipped %s: %s\n", kind.c_str(), why.c_str());
}

void Report::compare(std::string const& kind, std::string const& label, Rows const& expected, int expected_from,
                     Rows const& actual, int actual_from, int tokens) {
  int64_t const heads = expected.heads;
  int64_t const row = heads * expected.head_dim;
  if (expected_from + tokens > expected.tokens || actual_from + tokens > actual.tokens) {
    record(kind, false, label, "fewer rows came back than were asked for");
    return;
  }
  auto const out_where = [&](int64_t i) {
    return "token " + std::to_string(expected_from + i / row) + " head " + std::to_string(i % row / expected.head_dim) +
           " column " + std::to_string(i % expected.head_dim);
  };
  auto const lse_where = [&](int64_t i) {
    return "token " + std::to_string(expected_from + i / heads) + " head " + std::to_string(i % heads);
  };
  auto const lse_value = [](uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  };
  std::string const out = differences("out", expected.out.data() + expected_from * row, actual.out.data() + actual_from * row,
                                      tokens * row, out_where, as_float);
  std::string const lse = differences("lse", expected.lse.data() + expected_from * heads,
                                      actual.lse.data() + actual_from * heads, tokens * heads, lse_where, lse_value);
  record(kind, out.empty() && lse.empty(), label, out.empty() ? lse : lse.empty() ? out : out + "; " + lse);
  counts_[kind].bitwise = true;
  counts_[kind].rows += tokens * heads;
}

void Report::untouched(std::string const& label, std::vector<std::string> const& problems) {
  std::string detail;
  for (std::string const& problem : problems) detail += (detail.empty() ? "" : "; ") + problem;
  record("untouched", problems.empty(), label, detail);
}

void Report::start(std::string const& kind) {
  double const time = now();
  if (!running_.empty()) counts_[running_].seconds += time - started_;
  running_ = kind;
  started_ = time;
}

Report::Count Report::total() const {
  Count sum;
  for (auto const& [kind, count] : counts_) {
    sum.passed += count.passed;
    sum.failed += count.failed;
    sum.skipped += count.skipped;
  }
  return sum;
}

bool Report::good() const { return total().failed == 0; }

void Report::print() const {
  std::printf("%-22s %8s %8s %8s %14s %8s\n", "kind", "passed", "failed", "skipped", "rows bitwise", "seconds");
  int64_t bitwise = 0;
  for (std::string const& kind : order_) {
    Count const& count = counts_.at(kind);
    if (count.bitwise) bitwise += count.passed + count.failed;
    std::printf("%-22s %8lld %8lld %8lld %14lld %8.1f\n", kind.c_str(), static_cast<long long>(count.passed),
                static_cast<long long>(count.failed), static_cast<long long>(count.skipped), static_cast<long long>(count.rows),
                count.seconds);
  }
  Count const sum = total();
  std::printf("bitwise cases: %lld\n", static_cast<long long>(bitwise));
  std::printf("gpu: %lld passed, %lld failed, %lld skipped\n", static_cast<long long>(sum.passed),
              static_cast<long long>(sum.failed), static_cast<long long>(sum.skipped));
}

std::string Report::json() const {
  std::ostringstream text;
  text << "{\"kinds\": {";
  char const* separator = "";
  for (std::string const& kind : order_) {
    Count const& count = counts_.at(kind);
    text << separator << "\n  \"" << kind << "\": {\"passed\": " << count.passed << ", \"failed\": " << count.failed
         << ", \"skipped\": " << count.skipped << ", \"bitwise\": " << (count.bitwise ? "true" : "false")
         << ", \"rows\": " << count.rows << ", \"seconds\": " << count.seconds << "}";
    separator = ",";
  }
  Count const sum = total();
  text << "\n}, \"passed\": " << sum.passed << ", \"failed\": " << sum.failed << ", \"skipped\": " << sum.skipped << "}\n";
  return text.str();
}

void announce(Suite const& suite, std::string const& label) {
  if (!suite.verbose) return;
  std::printf("call %s\n", label.c_str());
  std::fflush(stdout);
}

std::vector<Rows> run(Suite& suite, CallSetup setup, std::vector<Piece> const& pieces, std::string const& label) {
  if (!setup.kernel) setup.kernel = suite.kernel;
  announce(suite, label);
  std::vector<std::string> problems;
  std::vector<Rows> rows = run_call(setup, pieces, problems);
  suite.report.untouched(label, problems);
  return rows;
}

std::vector<Rows> run_full(Suite& suite, tik_attention_shape const& shape, std::vector<Piece> const& pieces,
                           std::string const& label) {
  return run(suite, {Entry::full, shape, limits_of(pieces), static_cast<int>(pieces.size())}, pieces, label + " full");
}

} // namespace tik::gpu_suite
